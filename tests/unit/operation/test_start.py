"""What a start leaves behind for the collector of garbage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from django.conf import settings

ROOT = Path(__file__).resolve().parents[3]
TOLD = "import gc; print(gc.isenabled(), gc.get_freeze_count() > 50_000)"


def test_a_started_process_collects_garbage_but_not_among_what_it_imported() -> None:
    told = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", TOLD],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split()[-2:] == ["True", "True"]


def test_the_room_that_ends_a_start_is_installed_last() -> None:
    assert settings.INSTALLED_APPS[-1] == "liyagent.operation"
