"""What the README has a newcomer do with the demo's alert desk: a routine is found in its runs, adopted, and run; all of it really."""

from __future__ import annotations

import json
import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.agents.definitions import definition_of, save_agent
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.jobs.work import work_due
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from routines.adopt import adopt_routine
from routines.models import Routine
from runs.await_end import wait_for_end
from runs.models import Call, Run
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying
from tests.flows.replaying import desk_at_work
from tests.flows.test_alert_desk import CALLS

README = Path(__file__).resolve().parents[2] / "README.md"
TYPED = re.compile(r"^    \$ \.venv/bin/python manage\.py (.*)$", re.MULTILINE)


def said(line: str, **places: str) -> str:
    """What a line of the README prints."""
    out = StringIO()
    words = [places.get(it, it) for it in shlex.split(line)]
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def carry_mining() -> None:
    """Work on what is due, as a process does."""
    OWN.holder = register_holder(own_identity(), name="w", lease_seconds=60, formats=[1], key_ids=["k"])  # fmt: skip
    try:
        assert work_due(lambda: False) >= 1
    finally:
        OWN.holder = None


def ran(line: str) -> Run:
    """Start a run of the workflow as the line does, and have it carried."""
    with carrying():
        run_id = said(line).split()[-1]
        assert wait_for_end(run_id, seconds=30)  # type: ignore[arg-type]
        for child in Run.objects.filter(parent_id=run_id):
            assert wait_for_end(child.id, seconds=30)
    return Run.objects.get(id=run_id)


@pytest.mark.promise("RT-01")
@pytest.mark.promise("RT-02")
@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-05")
@pytest.mark.timeout(120)
def test_a_routine_of_the_demo_is_found_adopted_and_run_as_the_readme_says(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, mine, make_kim, listed, approve, run = TYPED.findall(README.read_text())
    with desk_at_work(tmp_path, monkeypatch):
        said(mine)
        carry_mining()
        routine = Routine.objects.get()
        assert (routine.agent_key, routine.state) == ("alert-desk", "suggested")
        adopt_routine(routine_id=routine.id, actor="admin")
        said(make_kim)
        request = Approval.objects.get(kind="routine")
        assert str(request.id) in said(listed)
        said(approve, REQUEST=str(request.id))
        answered = ran(run)
        assert (answered.status, answered.model_steps, answered.input_tokens) == ("answered", 5, 0)
        calls = Call.objects.filter(run_id=answered.id).order_by("step")
        assert [f"{it.server}/{it.tool}" for it in calls if it.fate == "done"] == [it for it in CALLS if it.split("/")[1] not in {"get_alert", "search_issues"}]  # fmt: skip
        assert not Run.objects.filter(parent_id=answered.id).exists()
        unknown = ran(run.replace('"alert_id": "ALR-2018"', '"alert_id": "ALR-9999"'))
        assert unknown.status == "answered"
        assert Run.objects.get(parent_id=unknown.id).agent_key == "alert-desk"
        unknown = ran(run.replace("ALR-2018", "ALR-9999"))
        took_over = Run.objects.get(parent_id=unknown.id)
        assert (unknown.status, took_over.status, took_over.model_steps) == (
            "answered",
            "answered",
            1,
        )
        assert not Call.objects.filter(run_id=took_over.id).exists(), "nothing is made again"
        save_agent(
            {**definition_of(Agent.objects.get(key="alert-desk")), "write_posture": "refuse"},
            actor="ann",
        )
        refused = ran(run.replace("ALR-2018", "ALR-2020"))
        took_over = Run.objects.get(parent_id=refused.id)
        assert (refused.status, took_over.status, took_over.calls_made) == (
            "answered",
            "answered",
            0,
        )
    (given,) = re.findall(r"--input '(.*)'$", run)
    assert json.loads(given)["alert_id"] == "ALR-2018"
