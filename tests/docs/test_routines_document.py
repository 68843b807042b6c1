"""`docs/routines.md`, typed as it stands; its refusals and audit names are those there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from liyagent.access.keys import create_key
from liyagent.approvals.models import Approval
from liyagent.workflows.models import Workflow
from routines import errors, refusals
from routines.models import Routine
from runs.models import Run
from tests.databases import FreshDatabase
from tests.docs.test_approvals_document import typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.conftest import READER, make_user
from tests.flows.serving import serving
from tests.recorded_runs import Made, Past
from tests.unit.routines.conftest import Mine, closed, mining_at

TEXT = (DOCS / "routines.md").read_text()


@pytest.fixture
def mine(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    with mining_at(fresh_db.url, monkeypatch) as it:
        yield it


def noted(number: int) -> Past:
    """A run of another pattern."""
    made = (Made(tool="crm/note", args={"text": f"note {number}"}),)
    return Past(task=f"note {number}", calls=made)


@pytest.mark.promise("RT-04")
@pytest.mark.promise("RT-05")
def test_every_line_of_it_answers_as_it_says(mine: Mine) -> None:
    mine.past([*map(closed, range(3)), *map(noted, range(3))])
    make_user("olga", *READER, "workflows.view_workflow")
    make_user("kim", "approvals.decide")
    key = create_key(name="docs", username="olga").token
    said: list[str] = []
    with serving() as port:
        shell = Shell(places={"$KEY": key, "127.0.0.1:8000": f"127.0.0.1:{port}"})
        for line in commands_of("routines.md"):
            if "mine_routines" not in line:
                mine.work()
            shell.places = {**shell.places, **places()}
            said.append(typed(shell, line))
    told = iter(said)
    assert "crm/find, crm/close" in next(told).replace(" > ", ", ")
    assert "triage" in next(told)
    assert len(json.loads(next(told))["routines"]) == 2
    assert '"as_parameters":[{"name":"queue","place":"/s2/queue"}]' in next(told).replace(" ", "")
    assert '"is_new":true' in next(told)
    assert "crm/close" in next(told)
    assert "consumed" in next(told)
    assert '"state":"dismissed"' in next(told)
    assert Run.objects.get(id=json.loads(next(told))["id"]).workflow == Workflow.objects.get().key
    standing: dict[str, Any] = json.loads(next(told))["standing"]
    assert (standing["runs"], standing["fallback_rate"]) == (1, None)
    assert next(told, None) is None


def places() -> dict[str, str]:
    """What stands for what a reader has by then."""
    routines = {len(it.tools): str(it.id) for it in Routine.objects.all()}
    request = Approval.objects.filter(kind="routine").first()
    workflow = Workflow.objects.first()
    return {
        "ROUTINE": routines.get(2, ""),
        "ANOTHER": routines.get(1, ""),
        "REQUEST": str(request.id) if request else "",
        "WORKFLOW": workflow.key if workflow else "",
    }


def test_its_refusals_are_those_there_are() -> None:
    """Not found is told everywhere alike."""
    there = {it.code for it in vars(refusals).values() if getattr(it, "code", "").startswith("routine.")}  # fmt: skip
    assert set(re.findall(r"`(routine\.\w+)`", TEXT)) == there
    assert errors.RoutineUnknown.code == "routine.not_found"


def test_its_audit_names_are_those_that_are_written() -> None:
    line = next(it for it in TEXT.splitlines() if it.startswith("Audited:"))
    named = {f"agent.routine.{it}" for it in re.findall(r"`(?:agent\.routine)?\.(\w+)`", line)}
    room = "".join(it.read_text() for it in (DOCS.parent / "routines").glob("*.py"))
    written = {f"agent.routine.{it}" for it in re.findall(r'"agent\.routine\.(\w+)"', room)}
    written |= {f"agent.routine.{it}" for it in re.findall(r'_audit\("(\w+)"', room)}
    assert named == written
