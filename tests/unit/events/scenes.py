"""What is done to a run so that it has something to tell: each scene plays one, and returns its root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liyagent.approvals.models import ApprovalStatus
from runs.models import Call, Run
from runs.settle_by_person import it_happened
from tests.unit.approvals.deciding import HOLD, decided, let_decide, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed

Scene = Callable[[World], Run]


def answered(world: World, **facts: Any) -> Run:
    """One write, one read, an answer."""
    run = world.start(calls(("v/keyed", {"n": 1}), ("v/look", {"n": 2})), says("done"), **facts)
    world.process().carry()
    return Run.objects.get(id=run.id)


def killed_and_resumed(world: World) -> Run:
    """Its process dies with a write on its way; another settles it and goes on."""

    def die(_tool: str) -> None:
        world.vendor.after_effect = lambda _tool: None
        raise Killed

    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    world.vendor.after_effect = die
    first = world.process("a")
    try:
        first.carry()
    except Killed:
        world.lapse(first)
    world.process("b").carry()
    return Run.objects.get(id=run.id)


def approved(world: World) -> Run:
    """A call is held, a person approves it, and it is made."""
    world.sql(HOLD)
    let_decide("olga")
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    world.process("a").carry()
    decided(the_request(), ApprovalStatus.APPROVED)
    world.process("b").carry()
    return Run.objects.get(id=run.id)


def unknown_and_settled_by_a_person(world: World) -> Run:
    """Nobody knows what became of a write; a person looks at the vendor and says so."""

    def die(_tool: str) -> None:
        world.vendor.after_effect = lambda _tool: None
        raise Killed

    let_decide("olga")
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    world.vendor.after_effect = die
    first = world.process("a")
    try:
        first.carry()
    except Killed:
        world.lapse(first)
    # A read-back, and a word of unknown, wait until no earlier attempt can send any more.
    world.sql(
        "UPDATE runs_run SET settle_after = liyagent_now() - interval '1 s', not_before = NULL"
    )
    world.process("b").carry()
    call = Call.objects.get(run_id=run.id)
    world.sql("UPDATE runs_call SET deadline = liyagent_now() - interval '1 s'")
    it_happened(call_id=call.id, result=None, actor="olga", reason="it is there")
    return Run.objects.get(id=run.id)


def with_a_gap(world: World) -> Run:
    """The database refuses the events of a step once."""
    world.sql(REFUSE_ONCE)
    run = world.start(calls(("v/keyed", {"n": 1})), calls(("v/keyed", {"n": 2})), says("done"))
    world.process().carry()
    return Run.objects.get(id=run.id)


REFUSE_ONCE = """
CREATE SEQUENCE refusals;
CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'tool.call' AND nextval('refusals') = 1 THEN
        RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_once BEFORE INSERT ON events_runevent FOR EACH ROW EXECUTE FUNCTION refuse_once();
"""
