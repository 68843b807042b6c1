"""`manage.py mine_routines`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import CommandError

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.jobs.models import Job
from routines.dismiss import dismiss_routine
from routines.models import Mining, Routine, Sighting
from tests.databases import FreshDatabase
from tests.flows.test_sources import shell
from tests.recorded_runs import AGENT, Past
from tests.unit.routines.conftest import Mine, closed, mining_at


@pytest.fixture
def mine(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    with mining_at(fresh_db.url, monkeypatch) as it:
        yield it


@pytest.mark.promise("RT-01")
def test_each_agent_recorded_in_full_is_asked_for(mine: Mine) -> None:
    Agent.objects.create(key="other", name="o", provider="scripted", model="m", recording="full")
    Agent.objects.create(key="meta", name="m", provider="scripted", model="m")
    told = shell("mine_routines")
    assert set(Job.objects.values_list("subject", flat=True)) == {AGENT, "other"}
    assert all(str(it) in told for it in Job.objects.values_list("id", flat=True))
    assert f"{AGENT}: job {Job.objects.get(subject=AGENT).id} is queued already" in shell("mine_routines", AGENT)  # fmt: skip
    mine.past(map(closed, range(3)))
    mine.work()
    assert "suggested" in Routine.objects.values_list("state", flat=True)


@pytest.mark.promise("RT-01")
def test_a_dry_run_prints_what_would_be_offered_and_writes_nothing(mine: Mine) -> None:
    mine.past([*map(closed, range(4)), Past(calls=()), Past(calls=(), status="failed")])
    told = shell("mine_routines", AGENT, "--dry-run")
    assert f"{AGENT}: 6 runs were looked at, 4 count; nothing is written." in told
    (line,) = [it for it in told.splitlines() if it.startswith("crm/find > crm/close")]
    assert line.split()[3:6] == ["4", "4", "who"]
    assert line.endswith("new")
    assert "1 skipped: it made no call" in told
    assert "1 skipped: it did not answer" in told
    for model in (Job, Routine, Sighting, Mining):
        assert not model.objects.exists(), model
    # No value of a run is printed.
    assert "desk" not in told


def test_what_was_dismissed_is_told_and_stays(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    dismiss_routine(routine_id=mine.only().id, actor="olga")
    told = shell("mine_routines", "--dry-run")
    assert "left alone: dismissed" in told


def test_where_nothing_repeats_it_says_so(mine: Mine) -> None:
    assert "No pattern was seen often enough." in shell("mine_routines", AGENT, "--dry-run")


def test_what_is_wrong_is_told_in_a_line(mine: Mine) -> None:
    with pytest.raises(LiyagentError, match="there is no agent 'none'"):
        shell("mine_routines", "none")
    with pytest.raises(LiyagentError, match="there is no agent 'none'"):
        shell("mine_routines", "none", "--dry-run")
    Agent.objects.update(recording="metadata")
    with pytest.raises(CommandError, match="no agent is recorded in full"):
        shell("mine_routines")
    assert not Job.objects.exists()
