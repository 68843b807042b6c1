"""Behind a pooler alone nothing is served: what sweeps and renews needs a session of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings

from liyagent.demo.vendors.process import free_port
from runs.directness import check_directness
from tests.databases import FreshDatabase
from tests.fakes.pooler import Pooler

LONGEST_START_SECONDS = 30


def test_the_server_itself_is_taken(fresh_db: FreshDatabase) -> None:
    check_directness()


@pytest.mark.field("FL-28")
@pytest.mark.parametrize("command", ["serve", "cluster"])
def test_a_start_whose_only_way_is_a_pooler_is_refused(
    fresh_db: FreshDatabase, command: str
) -> None:
    pooler = Pooler(fresh_db.url)
    port = [f"--port={free_port()}"] if command == "serve" else []
    refused = subprocess.run(
        [sys.executable, "manage.py", command, *port],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": pooler.url},
        capture_output=True,
        text=True,
        timeout=LONGEST_START_SECONDS,
        check=False,
    )
    pooler.close()
    assert refused.returncode != 0
    assert "LIYAGENT_DIRECT_DATABASE_URL (by default DATABASE_URL) leads through" in refused.stderr
    assert "Traceback" not in refused.stderr
