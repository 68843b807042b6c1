"""Two at once over one saga: one does it, the other is told what stands, and nothing is undone twice (FL-59, FL-63)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier
from typing import Any

import psycopg
import pytest
from django.db import connection
from pytest_django import Settings

from liyagent.agents.models import Agent
from liyagent.approvals.errors import AlreadyDecided
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.core.errors import LiyagentError
from liyagent.gateway.local import ToolFailed
from runs.close_saga import close_saga
from runs.compensate import compensate_run
from runs.models import Call, Run
from runs.settle_by_person import it_happened
from sagas.errors import Compensating, NothingOwed, SagaClosed
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import decided, let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone, undos
from tests.unit.runs.carrying.test_hand_off import TWO, filed, stubborn, word
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

__all__ = ["stubborn", "undoing"]

HOLD_SAGA = "SELECT 1 FROM sagas_saga FOR NO KEY UPDATE"


@contextmanager
def meeting(
    world: World, verb: Callable[[], Any], first: tuple[Any, ...] = (HOLD_SAGA,)
) -> Iterator[psycopg.Connection]:
    """Let the verb wait for what another connection said first, which is yielded, and goes on behind it."""

    def do() -> None:
        try:
            verb()
        finally:
            connection.close()

    statement, *values = first
    with ThreadPoolExecutor(1) as threads, psycopg.connect(world.url) as holder:
        holder.execute(statement, values)
        going, until = threads.submit(do), time.monotonic() + 10
        while not world.sql("SELECT 1 FROM pg_locks WHERE NOT granted") and not going.done():
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not going.done(), going.exception() or "it did not wait"
        yield holder
        holder.commit()
        going.result()


def at_once(*verbs: Callable[[], Any]) -> list[Any]:
    """Do these at the same moment, each on a connection of its own; what each returned, or refused."""
    ready = Barrier(len(verbs))

    def do(verb: Callable[[], Any]) -> Any:
        try:
            ready.wait()
            return verb()
        except LiyagentError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(verbs)) as threads:
        return list(threads.map(do, verbs))


@pytest.mark.promise("SG-05", "SG-06", "SG-07", "SG-08")
@pytest.mark.field("FL-59")
def test_one_fails_one_is_refused_and_the_oldest_is_made(
    undoing: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/readable", {"x": 2}), ("v/blind", {"x": 3}))
    Agent.objects.update(tool_patterns=["v/keyed", "v/blind"])
    received: list[str] = []

    def fails(tool: str) -> None:
        received.append(tool)
        if tool == "blind":
            raise ToolFailed("500")

    undoing.vendor.before_effect = fails
    undone(undoing)
    assert received == ["blind", "blind", "blind", "keyed"]
    told = arguments_of(filed(run))
    assert [(it["write"], it["fate"], it["tries"]) for it in told["undos"]] == [
        ("v/blind", "failed", 3),
        ("v/readable", "failed", 1),
        ("v/keyed", "done", 1),
    ]
    assert told["undos"][0]["error"] == "500"
    assert "v/readable" in told["undos"][1]["note"]
    received.clear()
    compensate_run(run_id=run.id, actor="olga")
    undone(undoing, name="second")
    assert received == ["blind"] * 3
    assert Saga.objects.get(id=run.id).status == "partial"
    assert len(undoing.audit("saga.handoff")) == 1


@pytest.mark.promise("SG-06")
@pytest.mark.field("FL-63")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
@pytest.mark.parametrize("tool", ["keyed", "readable", "blind"])
def test_a_person_presses_while_the_dead_ones_undos_are_in_doubt(
    undoing: World, die: Callable[[str], None], tool: str
) -> None:
    run = fail(undoing, ("v/blind", {"x": 1}), ("v/readable", {"x": 2}), ("v/keyed", {"name": "a"}))
    first = undoing.process("first")
    die(tool)
    with pytest.raises(Killed):
        first.carry()
    pressed = at_once(*[lambda: compensate_run(run_id=run.id, actor="olga")] * 2)
    assert {it.round for it in pressed} == {1}, "the round that is at it"
    undoing.lapse(first)
    pressed = at_once(*[lambda: compensate_run(run_id=run.id, actor="olga")] * 2)
    assert {it.round for it in pressed} == {1}
    undoing.sql("UPDATE runs_call SET deadline = liyagent_now()")
    undoing.sql("UPDATE runs_run SET settle_after = liyagent_now() WHERE status = 'queued'")
    undone(undoing)
    made = [it["undo_of"] for it in undoing.vendor.rows if "undo_of" in it]
    assert made == sorted(set(made), reverse=True), "newest first, none twice"
    fates = dict(zip(("keyed", "readable", "blind"), [it[1] for it in undos(run)], strict=True))
    is_lost = tool == "blind" or (tool == "readable" and die is die_before_effect)
    assert {name for name, fate in fates.items() if fate != "done"} == (
        {tool} if is_lost else set()
    )
    assert fates[tool] == ("unknown" if is_lost else "done")
    assert Run.objects.filter(loop__startswith="undo:").count() == 1


@pytest.mark.promise("SG-06")
@pytest.mark.field("FL-63")
def test_of_two_that_press_at_once_one_begins_a_round(stubborn: World) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    stubborn.vendor.before_effect = lambda _tool: None
    pressed = at_once(*[lambda: compensate_run(run_id=run.id, actor="olga")] * 4)
    assert {it.round for it in pressed} == {2}
    assert {it.compensating_run for it in pressed} == {Run.objects.get(loop="undo:2").id}
    undone(stubborn, name="second")
    after = at_once(*[lambda: compensate_run(run_id=run.id, actor="olga")] * 2)
    assert all(isinstance(it, NothingOwed) for it in after)
    assert [it["undo_of"] for it in stubborn.vendor.rows if "undo_of" in it] == [1, 2]


@pytest.mark.parametrize("_round", range(3))
def test_pressed_and_closed_at_once_one_of_them_comes_first(stubborn: World, _round: int) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    pressed, closed = at_once(
        lambda: compensate_run(run_id=run.id, actor="olga"),
        lambda: close_saga(run_id=run.id, actor="kim", reason="by hand"),
    )
    if isinstance(pressed, Saga):
        assert isinstance(closed, Compensating)
        assert Run.objects.filter(loop="undo:2").exists()
    else:
        assert isinstance(pressed, SagaClosed)
        assert closed.status == "closed"
        assert not Run.objects.filter(loop="undo:2").exists()


@pytest.mark.promise("SG-09")
@pytest.mark.parametrize("_round", range(3))
def test_approved_and_rejected_at_once_it_begins_again_or_is_closed(
    undoing: World, _round: int
) -> None:
    let_decide("kim", "olga")
    run = fail(undoing, *TWO)
    undone(undoing)
    approval = filed(run)
    told = at_once(
        lambda: word(approval, ApprovalStatus.APPROVED, actor="kim"),
        lambda: word(approval, ApprovalStatus.REJECTED, actor="olga"),
        lambda: word(approval, ApprovalStatus.APPROVED, actor="olga"),
    )
    refused = [it for it in told if isinstance(it, AlreadyDecided)]
    assert len(refused) == 2, told
    again = Run.objects.filter(loop="root").count() - 1
    assert (again, Saga.objects.get(id=run.id).status) in {(1, "compensated"), (0, "closed")}


@pytest.mark.promise("SG-09")
@pytest.mark.parametrize("_round", range(3))
def test_approved_and_pressed_at_once_it_is_not_begun_while_it_is_undone(
    stubborn: World, _round: int
) -> None:
    let_decide("kim")
    run = fail(stubborn, *TWO)
    undone(stubborn)
    approval = filed(run)
    decided, pressed = at_once(
        lambda: word(approval, ApprovalStatus.APPROVED),
        lambda: compensate_run(run_id=run.id, actor="olga"),
    )
    assert isinstance(pressed, Saga), "what is left may be undone whatever was decided"
    again = Run.objects.filter(loop="root").count() - 1
    if isinstance(decided, Compensating):
        assert (again, filed(run).status) == (0, "pending")
    else:
        assert (again, decided.status) == (1, "consumed")


@pytest.mark.promise("SG-07")
def test_a_held_undo_that_is_asked_for_anew_waits_for_the_saga_before_its_undo(
    undoing: World,
) -> None:
    """Whoever seals a saga anew holds it, and then its undos: in another order the two would stop each other."""
    let_decide("olga")
    run = fail(undoing, ("v/keyed", {"name": "a"}))
    Agent.objects.update(write_posture="hold")
    undone(undoing)
    decided(Approval.objects.get(kind="call"), ApprovalStatus.APPROVED)
    connection.close()
    undoing.sql("UPDATE approvals_approval SET policy_fingerprint = 'another' WHERE kind = 'call'")
    with meeting(undoing, lambda: undone(undoing, name="approved")) as holder:
        holder.execute("SELECT 1 FROM sagas_undo FOR NO KEY UPDATE NOWAIT")
    held = Undo.objects.get(saga_id=run.id)
    assert (held.fate, held.tries) == ("held", 2)
    assert held.approval is not None
    assert Approval.objects.get(id=held.approval).status == "pending"


@pytest.mark.parametrize("verb", ["finish", "decide", "settle_by_person"])
def test_event_heads_are_locked_behind_the_saga(undoing: World, verb: str) -> None:
    """Whoever holds the saga and tells of it would lose what it tells."""

    def breaks(_tool: str) -> None:
        raise RuntimeError("reset by peer")

    let_decide("olga")
    if verb == "finish":
        Agent.objects.update(compensations={})
        run = undoing.start(calls(("v/keyed", {"name": "a"})), says(""))
        undoing.sql("SELECT liyagent_saga(%s)", run.id)
    else:
        run = fail(undoing, ("v/keyed", {"name": "a"}))
    if verb == "decide":
        Agent.objects.update(write_posture="hold")
        undone(undoing)
    if verb == "settle_by_person":
        undoing.vendor.after_effect = breaks
        undone(undoing)
    going: dict[str, Callable[[], Any]] = {
        "finish": lambda: undone(undoing),
        "decide": lambda: decided(Approval.objects.get(kind="call"), ApprovalStatus.REJECTED),
        "settle_by_person": lambda: it_happened(
            call_id=Call.objects.get(fate="unknown").id, result=None, actor="olga", reason="seen"
        ),
    }
    with meeting(undoing, going[verb]) as holder:
        holder.execute("SELECT 1 FROM events_eventhead FOR UPDATE NOWAIT")
    came = {"finish": "handed_off", "decide": "partial", "settle_by_person": "compensated"}
    assert Saga.objects.get(id=run.id).status == came[verb]


@pytest.mark.parametrize("answer", ["", "done"], ids=["fails", "answers"])
def test_the_first_word_of_a_saga_and_the_end_of_its_run_do_not_miss_each_other(
    undoing: World, answer: str
) -> None:
    Agent.objects.update(compensations={})
    run = undoing.start(calls(("v/keyed", {"name": "a"})), says(answer))
    first = "SELECT liyagent_register_undo(%s, %s, 1, 0, %s, NULL)"
    with meeting(undoing, lambda: undone(undoing), (first, run.id, run.id, '{"handoff": "none"}')):
        pass
    assert Run.objects.get(id=run.id).is_ended
    assert Saga.objects.get(id=run.id).status == ("closed" if answer else "handed_off")


def test_whoever_lets_an_undo_out_waits_for_nobody_who_tells_in_its_chain(undoing: World) -> None:
    """Who rejects the hand-off has told so, and waits for the round that the other one holds."""
    let_decide("olga")
    fail(undoing, ("v/keyed", {"name": "a"}))
    Agent.objects.update(write_posture="hold")
    undone(undoing)
    connection.close()
    with ThreadPoolExecutor(1) as threads, psycopg.connect(undoing.url) as teller:
        teller.execute("UPDATE events_eventhead SET count = count")
        request = Approval.objects.get(kind="call")
        let_out = threads.submit(at_once, lambda: decided(request, ApprovalStatus.APPROVED))
        (approved,) = let_out.result(timeout=10)
        teller.rollback()
    assert approved.status == "approved"
    assert Run.objects.filter(loop=f"approved:{request.id}").exists()
