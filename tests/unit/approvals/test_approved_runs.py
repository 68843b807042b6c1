"""A call approved after its run went on: made by one run of its own, on the rights that stand now, wherever that dies."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from liyagent.agents.hooks import HOOKS, About, Hook, HookRefused
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.outcome import Call, Outcome
from runs.errors import CheckpointBroken
from runs.keys import approved_call_key
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, the_request
from tests.unit.approvals.test_deaths import IN_DOUBT, POINTS
from tests.unit.approvals.test_dispatch import OTHER_TEXT, STANDING
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_masked_calls import DENY

GONE = {
    "agent removed": ("DELETE FROM agents_agent", "no longer exists"),
    "agent contained": ("UPDATE agents_agent SET is_contained = true", "is contained"),
    "everything contained": (
        "UPDATE agents_configversion SET is_contained = true, version = version + 1",
        "is contained",
    ),
    "agent switched off": ("UPDATE agents_agent SET is_enabled = false", "switched off"),
    "starter deactivated": (
        "UPDATE auth_user SET is_active = false WHERE username = 'rita'",
        "rita, who started it, may no longer run agents",
    ),
    "starter without the right": (
        "DELETE FROM auth_user_user_permissions p USING auth_user u WHERE p.user_id = u.id AND u.username = 'rita'",
        "rita, who started it, may no longer run agents",
    ),
    "channel closed": ("UPDATE agents_agent SET channels = '[\"cli\"]'", "no longer permits"),
}


@pytest.fixture
def going_on(held: World) -> World:
    """The agent's writes are held and its runs go on; rita, who starts them, may run agents."""
    held.sql(HOLD_AND_GO_ON)
    user = get_user_model().objects.create_user("rita", password="x")
    user.user_permissions.add(Permission.objects.get(codename="operate"))
    return held


def asked(world: World, tool: str = "keyed") -> tuple[Run, Approval]:
    """A run of rita's that went on without its held call, which has just been approved."""
    run = world.start(calls((f"v/{tool}", {"n": 1})), says("done"), started_by="rita")
    world.process("first").carry()
    return run, approve(the_request())


@pytest.mark.promise("CR-29")
@pytest.mark.promise("EV-01")
@pytest.mark.field("FL-52")
@pytest.mark.parametrize("tool", ["keyed", "readable", "blind"])
@pytest.mark.parametrize("point", POINTS)
def test_the_call_is_made_once_at_the_most_wherever_its_process_dies(
    going_on: World, cut: Cut, tool: str, point: str
) -> None:
    run, approval = asked(going_on, tool)
    dead = POINTS[point](going_on, cut, tool)
    if dead is not None:
        going_on.prove_dead(dead)
    made = going_on.process("survivor").carry()
    fate, received, effects = IN_DOUBT.get((tool, point), ("done", 1, 1))
    assert (made.parent_id, made.losses) == (run.id, int(dead is not None))
    assert made.status == ("answered" if fate == "done" else "failed")
    assert going_on.call(made, 1).fate == fate
    assert going_on.vendor.received.count(tool) == received
    keys = [row["key"] for row in going_on.vendor.of(tool)]
    assert keys == [approved_call_key(approval.id)] * effects
    assert (Approval.objects.count(), the_request().status) == (1, "consumed")
    assert Run.objects.count() == 2
    assert len(going_on.model.asked) == 2
    told = [it.kind for it in going_on.events(made)]
    assert (told[0], told[-1], told.count("run.started")) == ("run.started", "run.ended", 1)


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize(("change", "said"), GONE.values(), ids=GONE)
def test_whose_authority_is_gone_makes_no_call_and_leaves_no_open_approval(
    going_on: World, change: str, said: str
) -> None:
    asked(going_on)
    going_on.sql(change)
    made = going_on.process("second").carry()
    assert (made.status, going_on.vendor.received) == ("failed", [])
    assert said in made.reason
    request = the_request()
    assert (request.status, request.settled_reason) == (
        "stale",
        "its run ended before it was made",
    )


def test_an_approved_run_that_is_stopped_makes_no_call(going_on: World) -> None:
    asked(going_on)
    made = Run.objects.get(status="queued")
    stop_run(run_id=made.id, actor="op", reason="not now")
    assert going_on.process("second").carry().status == "stopped"
    assert (the_request().status, going_on.vendor.received) == ("stale", [])


@pytest.mark.parametrize("change", [OTHER_TEXT, STANDING])
def test_what_changed_is_asked_anew_and_made_by_a_further_run(going_on: World, change: str) -> None:
    asked(going_on)
    going_on.sql(change)
    first = going_on.process("second").carry()
    assert (first.status, going_on.vendor.received) == ("failed", [])
    new = the_request(status="pending")
    assert str(new.id) in first.reason
    assert (new.run_id, new.run_waits) == (first.id, False)
    approve(new, by="kim")
    further = going_on.process("third").carry()
    assert (further.status, further.parent_id) == ("answered", first.id)
    assert going_on.vendor.received == ["keyed"]
    assert {it.kind for it in going_on.events(first)} >= {"approval.requested", "tool.call"}


def test_what_changed_is_waited_for_by_an_agent_that_may_wait_by_now(going_on: World) -> None:
    asked(going_on)
    going_on.sql("UPDATE agents_agent SET may_wait = true")
    going_on.sql(OTHER_TEXT)
    assert going_on.process("second").carry().status == "waiting"
    approve(the_request(status="pending"))
    assert going_on.process("third").carry().status == "answered"
    assert going_on.vendor.received == ["keyed"]


def test_it_is_made_where_the_agent_s_writes_go_through_by_now(going_on: World) -> None:
    _, approval = asked(going_on)
    going_on.sql("UPDATE agents_agent SET write_posture = 'allow'")
    assert going_on.process("second").carry().status == "answered"
    assert going_on.vendor.rows[0]["key"] == approved_call_key(approval.id)
    assert the_request().status == "consumed"


def test_what_a_gate_refuses_by_now_ends_it_with_the_reason(going_on: World) -> None:
    going_on.start(calls(("v/keyed", {"to": "kim@example.com"})), says("done"), started_by="rita")
    going_on.process("first").carry()
    approve(the_request())
    going_on.sql(DENY)
    made = going_on.process("second").carry()
    assert (made.status, made.error, going_on.vendor.received) == ("failed", "approved.call", [])
    assert "mail lets no email go" in made.reason
    assert the_request().status == "stale"


def test_guardrails_of_the_agent_do_not_take_its_own_words_for_a_task(going_on: World) -> None:
    asked(going_on)
    rule = {"kind": "pattern", "name": "no-calls", "pattern": "as approved by", "action": "refuse"}
    Agent.objects.update(guardrails={"input": [rule], "output": [rule]})
    assert going_on.process("second").carry().status == "answered"
    assert the_request().status == "consumed"


class Recorder(Hook):
    """Tells of each call it is asked about, and refuses those that it was told to."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.refuses = False

    def before_call(self, about: About, call: Call) -> None:
        self.seen.append(("before", call.name))
        if self.refuses:
            raise HookRefused("frozen until Monday")

    def after_call(self, about: About, call: Call, outcome: Outcome) -> None:
        self.seen.append(("after", outcome.fate.value))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    hook = Recorder()
    monkeypatch.setitem(HOOKS, "recorder", hook)
    return hook


@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("refuses", [True, False])
def test_hooks_are_asked_again_before_an_approved_call_and_hear_what_came_of_it(
    going_on: World, recorder: Recorder, may_wait: bool, refuses: bool
) -> None:
    going_on.sql("UPDATE agents_agent SET hooks = '[\"recorder\"]', may_wait = %s", may_wait)
    asked(going_on)
    recorder.seen.clear()
    recorder.refuses = refuses
    going_on.process("second").carry()
    fate = "refused" if refuses else "done"
    assert recorder.seen == [("before", "v/keyed"), ("after", fate)]
    assert going_on.vendor.received == ([] if refuses else ["keyed"])
    assert the_request().status == ("stale" if refuses else "consumed")


def test_hooks_are_not_asked_while_nobody_has_decided(going_on: World, recorder: Recorder) -> None:
    going_on.sql("UPDATE agents_agent SET hooks = '[\"recorder\"]', may_wait = true")
    run = going_on.start(calls(("v/keyed", {"n": 1})), says("done"), started_by="rita")
    going_on.process("first").carry()
    going_on.sql("SELECT liyagent_wake(%s)", run.id)
    assert going_on.process("second").carry().status == "waiting"
    assert recorder.seen == [("before", "v/keyed")]


def test_a_request_that_was_made_to_name_another_call_is_not_approved(going_on: World) -> None:
    going_on.start(
        calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("done"), started_by="rita"
    )
    going_on.process("first").carry()
    first, second = Approval.objects.order_by("index")
    going_on.sql("UPDATE approvals_approval SET index = 2 WHERE id = %s", second.id)
    going_on.sql("UPDATE approvals_approval SET index = 1 WHERE id = %s", first.id)
    with pytest.raises(CheckpointBroken, match="not the one it was filed for"):
        approve(first)
    assert (the_request(id=first.id).status, Run.objects.count()) == ("pending", 1)
