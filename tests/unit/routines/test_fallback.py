"""A routine whose step fails is gone on with by the agent itself, told what was done: nothing that succeeded is made again (RT-03, RT-06)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.local import ToolFailed
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.types import ModelAnswer, ModelClient, ModelRequest, Role
from liyagent.workflows.start import start_workflow
from routines.adopt import adopt_routine
from routines.compile import compile_routine
from routines.models import Routine
from routines.recorded import RecordedCall, RecordedRun
from routines.standing import standing_of
from runs.models import Run
from sagas.models import Saga
from tests.unit.routines.stored import TOOLS, store
from tests.unit.routines.test_adopt import approve, now
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.delegating.conftest import carry_all

__all__ = ["world"]

TASK = "restart web-9, it hangs"


def recorded(number: int) -> RecordedRun:
    """A run that looked at a host, restarted it and wrote that down."""
    host, row = f"web-{number}", 4_700 + number
    made: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("look", {"host": host}, {"seen": {"host": host}}),
        ("keyed", {"of": host, "kind": "restart"}, {"id": row}),
        ("blind", {"of": row}, {"id": row + 1}),
    ]
    return RecordedRun(
        id=str(UUID(int=number)),
        task=f"restart {host}",
        calls=tuple(RecordedCall(server="v", tool=it, args=args, output=out) for it, args, out in made),
    )  # fmt: skip


def adopted() -> Routine:
    """What three such runs compile to, adopted."""
    compiled = compile_routine([recorded(it) for it in (1, 2, 3)], agent="triage")
    routine = store(of=compiled.definition, parameters=[it.plain() for it in compiled.parameters])
    assert routine.digest == compiled.digest
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    return now(routine)


def begin(routine: Routine, **known: Any) -> Run:
    given = {
        "task": TASK,
        **{it["name"]: "web-9" for it in routine.parameters if it["name"] != "task"},
    }
    facts = {"entry": "api", "started_by": "", "mission": "", "request_id": "", **known}
    return Run.objects.get(id=start_workflow(key=routine.workflow_key, given=given, **facts).run_id)  # fmt: skip


class Careful(ModelClient):
    """Makes each of the three calls that it is not told is done, one a step, then answers."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def ask(self, request: ModelRequest) -> ModelAnswer:
        (task,) = [it.text for it in request.messages if it.role is Role.USER]
        self.tasks.append(task)
        lines = [it for it in task.splitlines() if it.startswith("- s")]
        done = {
            name
            for name in TOOLS
            if any(f", {name} " in it and " failed: " not in it for it in lines)
        }
        made: dict[str, dict[str, Any]] = {
            "v/look": {"host": "web-9"},
            "v/keyed": {"of": "web-9", "kind": "restart"},
            "v/blind": {"of": 1},
        }
        left = [(it, made[it]) for it in TOOLS if it not in done]
        return calls(left[request.steps_taken]) if request.steps_taken < len(left) else says("restarted")  # fmt: skip


@pytest.fixture
def careful(world: World, monkeypatch: pytest.MonkeyPatch) -> Careful:
    model = Careful()
    monkeypatch.setitem(PROVIDERS, "careful", lambda _base_url, _api_key_env: model)
    client_for.cache_clear()
    Agent.objects.update(provider="careful")
    return model


def fail_once(world: World, tool: str) -> None:
    """The first call of a tool fails in its own words; it works again for the agent."""

    def fails(called: str) -> None:
        if called == tool:
            world.vendor.before_effect = lambda _tool: None
            raise ToolFailed("locked by change freeze")

    world.vendor.before_effect = fails


@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-06")
def test_where_the_world_is_as_it_was_no_model_is_asked(world: World, careful: Careful) -> None:
    routine = adopted()
    begin(routine)
    (run,) = carry_all(world)
    assert (run.status, run.workflow, careful.tasks) == ("answered", routine.workflow_key, [])
    assert world.vendor.received == ["look", "keyed", "blind"]
    first, second = world.vendor.rows
    assert (first["of"], first["kind"], second["of"]) == ("web-9", "restart", first["id"])
    standing = standing_of(routine)
    assert standing is not None
    assert (standing.ended, standing.fell_back) == (1, 0)


@pytest.mark.promise("RT-03")
@pytest.mark.parametrize("tool", ["look", "keyed", "blind"])
def test_the_agent_goes_on_where_a_step_failed_and_makes_nothing_again(
    world: World, careful: Careful, tool: str
) -> None:
    """Judged by what the vendor stored: each write once, whichever of the two made it."""
    routine = adopted()
    fail_once(world, tool)
    begin(routine)
    run, child = carry_all(world)
    assert (run.status, child.status, child.agent_key, child.parent_id) == ("answered", "answered", "triage", run.id)  # fmt: skip
    assert [it["tool"] for it in world.vendor.rows] == ["keyed", "blind"]
    assert world.vendor.received.count(tool) == 2
    assert sum(world.vendor.received.count(it) for it in ("look", "keyed", "blind")) == 4
    told = careful.tasks[0]
    assert told.startswith(TASK)
    assert "locked by change freeze" in told
    done = {"look": [], "keyed": ["look"], "blind": ["look", "keyed"]}[tool]
    assert all(f", v/{it} with " in told for it in done)
    ended = [json.loads(it.content) for it in world.events(run) if it.kind == "run.ended"]
    assert ended[-1]["status"] == "answered"
    standing = standing_of(routine)
    assert standing is not None
    assert (standing.ended, standing.fell_back, standing.rate) == (1, 1, 1.0)


@pytest.mark.promise("RT-06")
@pytest.mark.promise("SG-02")
def test_what_a_routine_wrote_is_undone_as_the_agent_s_own_writes_are(
    world: World, careful: Careful
) -> None:
    Agent.objects.update(
        compensations={"v/keyed": {"tool": "keyed", "args": {"undo_of": "{{ result.id }}", "was": "{{ args.kind }}"}}}
    )  # fmt: skip
    routine = adopted()
    fail_once(world, "blind")
    careful.ask = lambda request: says("")  # type: ignore[method-assign]
    run = begin(routine)
    carry_all(world)
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, [it.get("undo_of") for it in world.vendor.rows]) == (
        "compensated",
        [None, 1],
    )
    assert world.vendor.rows[1]["was"] == "restart"


@pytest.mark.promise("RT-03")
def test_the_agent_that_was_asked_cannot_hand_the_work_back(world: World, careful: Careful) -> None:
    routine = adopted()
    Agent.objects.update(tool_patterns=["v/*", "agents/*"])
    careful.ask = lambda request: (  # type: ignore[method-assign]
        calls(("agents/triage", {"task": "you do it"})) if not request.steps_taken else says("well")
    )
    fail_once(world, "look")
    begin(routine)
    runs = carry_all(world)
    assert [it.status for it in runs] == ["answered", "answered"]
    assert world.vendor.rows == []


@pytest.mark.promise("RT-06")
def test_its_writes_wait_as_the_agent_s_do_each_under_its_own_digest(world: World, careful: Careful) -> None:  # fmt: skip
    routine = adopted()
    Agent.objects.update(write_posture="hold")
    begin(routine)
    (run,) = carry_all(world)
    assert run.status == "waiting"
    get_user_model().objects.create_superuser("ben")
    requests = Approval.objects.filter(kind="call").order_by("created_at")
    first = requests.get()
    assert (first.name, first.run_id, first.run_waits) == ("v/keyed", run.id, True)
    assert world.vendor.rows == []
    approve(first)
    carry_all(world, name="second")
    assert [it["tool"] for it in world.vendor.rows] == ["keyed"]
    second = requests.exclude(id=first.id).get()
    assert second.name == "v/blind"
    approve(second)
    (run,) = carry_all(world, name="third")
    assert (run.status, [it["tool"] for it in world.vendor.rows]) == ("answered", ["keyed", "blind"])  # fmt: skip
    asked = {first.digest, second.digest, Approval.objects.get(kind="routine").digest}
    assert len(asked) == 3
    assert careful.tasks == []


@pytest.mark.promise("RT-06")
def test_rights_policies_and_containment_hold_for_it_as_they_stand_when_it_runs(world: World, careful: Careful) -> None:  # fmt: skip
    routine = adopted()
    Agent.objects.update(tool_patterns=["v/look", "v/blind"])
    begin(routine)
    run, child = carry_all(world)
    assert [it.status for it in (run, child)] == ["answered", "answered"]
    assert "there is no tool v/keyed" in careful.tasks[0]
    assert world.vendor.of("keyed") == []
    Agent.objects.update(tool_patterns=["v/*"])
    begin(routine)
    Agent.objects.update(is_contained=True)
    assert carry_all(world)[-1].error == "agent.contained"


@pytest.mark.promise("RT-03")
def test_an_unknown_outcome_is_no_error_to_fall_back_on(world: World, careful: Careful) -> None:
    """Whoever went on could make it a second time."""
    routine = adopted()

    def breaks(called: str) -> None:
        if called == "blind":
            raise RuntimeError("reset by peer")

    world.vendor.after_effect = breaks
    begin(routine)
    (run,) = carry_all(world)
    assert (run.status, run.error, careful.tasks) == ("failed", "workflow.unknown", [])
    assert len(world.vendor.of("blind")) == 1
