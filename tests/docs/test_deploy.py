"""The units and the page for production fit the product."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from liyagent.core.conf import read_conf
from runs.process import CARRIER_GRACE_SECONDS, CLUSTER_GRACE_SECONDS, WEB_GRACE_SECONDS
from runs.runner import HAND_OVER_SECONDS

ROOT = Path(__file__).resolve().parents[2]
OPERATE = ROOT / "docs" / "operate"
UNITS = ("liyagent@.service", "liyagent-migrate.service")
NEEDED = {"DATABASE_URL": "postgresql://nobody@nowhere/none", "LIYAGENT_DEBUG": "true"}


def unit(name: str) -> dict[str, list[str]]:
    """The settings of a unit; one that stands twice has two values."""
    found: dict[str, list[str]] = {}
    for line in (OPERATE / name).read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_a_process_gets_the_time_that_its_drain_may_take(tmp_path: Path) -> None:
    drain = read_conf(NEEDED, base_dir=tmp_path).drain_seconds
    threads = 7 * 2  # each is waited for two seconds
    most = 2 * drain + HAND_OVER_SECONDS + WEB_GRACE_SECONDS + CARRIER_GRACE_SECONDS
    (seconds,) = unit(UNITS[0])["TimeoutStopSec"]
    assert int(seconds) >= most + CLUSTER_GRACE_SECONDS + threads


def test_a_process_is_always_started_again_and_drains_by_itself() -> None:
    found = unit(UNITS[0])
    assert (found["Type"], found["Restart"], found["KillMode"]) == (["exec"], ["always"], ["mixed"])
    # A carrier that the kernel kills must not take the process along that started it.
    assert (found["OOMPolicy"], found["StartLimitIntervalSec"]) == (["continue"], ["0"])
    assert found["ExecStart"] == [
        "/opt/liyagent/.venv/bin/python manage.py serve --host ${HOST} --port 800%i"
    ]


@pytest.mark.parametrize("name", UNITS)
def test_nothing_hides_the_neighbours_whose_death_is_to_be_proven(name: str) -> None:
    assert set(unit(name)) & {"ProtectProc", "ProcSubset", "PrivatePIDs", "PrivateUsers"} == set()


def test_every_setting_that_the_page_names_is_one() -> None:
    named = set(
        re.findall(r"`?((?:LIYAGENT|TICKETIQ)_[A-Z_]+)", (OPERATE / "deploy.md").read_text())
    )
    known = set(re.findall(r"`([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text()))
    assert named - known == set()
