"""A person says what happened to a write that nobody could tell of: once, audited, and against no attempt."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection

from events.chain import first_break
from events.models import EventHead, RunEvent
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.seal import KeyMissing
from runs.checkpoint import sealer_of
from runs.errors import CallFound, CallNotFound, CallSettled, CallUnderWay, NoReader
from runs.late_look import look_late
from runs.marks import open_outcome
from runs.models import Call, Run
from runs.settle_by_person import Said, it_did_not, it_happened, look_again
from runs.stop import stop_run
from runs.unknown import unknown_calls
from tests.unit.runs.carrying import conftest
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

world = conftest.world

LOOKED = {"actor": "olga", "reason": "looked at the vendor"}
SAME = ("v/blind", {"n": 1})


def unknown_write(world: World, tool: str = "blind") -> Call:
    """A write of unknown outcome in a run that ended."""
    run = world.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    leave_unknown(world, tool)
    world.process("second").carry()
    call = world.call(run, 1)
    assert call.fate == "unknown"
    return call


def leave_unknown(world: World, tool: str = "blind") -> None:
    """The first process dies while the write is on its way."""
    first = world.process("first")
    die_before_effect(tool)
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.sql("DELETE FROM leases_holder WHERE id = %s", first.holder)


def result_of(call: Call) -> Any:
    return open_outcome(sealer_of(Run.objects.get(id=call.run_id)), call)


def waiting_for_same_intent(world: World) -> tuple[Run, Call, Approval]:
    """A run that sleeps, since what it asks for again was left unknown."""
    world.sql("UPDATE agents_agent SET may_wait = true")
    run = world.start(
        calls(SAME, ids=["toolu_a1b2c3d4e5"]), calls(SAME, ids=["toolu_f6g7h8i9j0"]), says("done")
    )
    leave_unknown(world)
    assert world.process("second").carry().status == "waiting"
    return run, world.call(run, 1), Approval.objects.get(gate="same_intent")


@pytest.mark.promise("CR-26")
def test_before_the_mark_s_deadline_nobody_says_that_it_did_not_happen(world: World) -> None:
    """A process that stalls, and is alive as far as anybody knows, may still send it."""
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    world.process("second").carry()
    call = world.call(run, 1)
    with pytest.raises(CallUnderWay, match="may still send it until"):
        it_did_not(call_id=call.id, **LOOKED)
    assert world.call(run, 1).fate == "unknown"
    world.sql("UPDATE runs_call SET deadline = liyagent_now()")
    it_did_not(call_id=call.id, **LOOKED)
    assert world.call(run, 1).fate == "failed"


@pytest.mark.parametrize("recording", ["full", "metadata"])
def test_what_happened_is_kept_with_its_result_audited_and_told_in_the_run_s_chain(
    world: World, recording: str
) -> None:
    world.sql("UPDATE agents_agent SET recording = %s", recording)
    call = unknown_write(world)
    said = it_happened(call_id=call.id, result={"ticket": "A-1"}, **LOOKED)
    assert said == Said(call=said.call, withdrawn=(), waiting=())
    call.refresh_from_db()
    assert (call.fate, call.settlement, call.late_look_at) == ("done", "by_person", None)
    assert (call.settled_by, call.settled_reason) == ("olga", "looked at the vendor")
    assert result_of(call).result == {"ticket": "A-1"}
    assert not unknown_calls().exists()
    (told,) = world.audit("agent.call.settled_by_person")
    assert (told["id"], told["call"], told["fate"]) == (call.id, "v/blind", "done")
    assert (told["was"]["fate"], told["was"]["settlement"]) == ("unknown", "told_unknown")
    assert AuditRow.objects.get(action="agent.call.settled_by_person").actor == "olga"
    rows = list(RunEvent.objects.order_by("number"))
    assert rows[-1].kind == "call.settled"
    assert rows[-1].content == (
        '{"by":"olga","fate":"done","index":0,"server":"v","settlement":"by_person","step":1,"tool":"blind"}'
    )
    correlation = rows[0].correlation_id
    assert first_break(rows, correlation_id=correlation, head=EventHead.objects.get()) is None


def test_what_did_not_happen_is_failed_and_looked_for_no_more(world: World) -> None:
    call = unknown_write(world)
    it_did_not(call_id=call.id, **LOOKED)
    call.refresh_from_db()
    assert (call.fate, call.settlement, call.late_look_at) == ("failed", "by_person", None)
    assert "did not take effect" in result_of(call).error
    assert world.vendor.received == ["blind"]


def settled_in_between(world: World, settle: Any) -> Run:
    """A run that asks for the same again after a person has settled the first."""
    run = world.start(calls(SAME), calls(("v/look", {})), calls(SAME), says("done"))
    leave_unknown(world)

    def settle_it(_tool: str) -> None:
        world.vendor.before_effect = lambda _tool: None
        settle(world.call(run, 1).id)

    world.vendor.before_effect = settle_it
    assert world.process("second").carry().status == "answered"
    return run


def test_what_did_not_happen_may_be_sent_again(world: World) -> None:
    run = settled_in_between(world, lambda it: it_did_not(call_id=it, **LOOKED))
    assert world.call(run, 3).fate == "done"
    assert world.vendor.received == ["blind", "look", "blind"]


def test_what_happened_is_not_sent_again_by_a_run_that_was_told_nobody_knows(world: World) -> None:
    settled_in_between(world, lambda it: it_happened(call_id=it, result=None, **LOOKED))
    assert world.vendor.received == ["blind", "look"]
    assert "a person found that it did" in world.model.results()[-1]


def test_a_run_that_sleeps_on_the_same_intent_is_told_that_it_happened_and_what_came_of_it(
    world: World,
) -> None:
    run, call, approval = waiting_for_same_intent(world)
    said = it_happened(call_id=call.id, result={"ticket": "A-1"}, **LOOKED)
    assert said.withdrawn == (approval.id,)
    approval.refresh_from_db()
    assert (approval.status, approval.decided_by) == ("withdrawn", "olga")
    assert "happened: looked at the vendor" in approval.settled_reason
    assert Run.objects.get(id=run.id).status == "queued"
    assert world.process("third").carry().status == "answered"
    assert world.vendor.received == ["blind"]
    assert '"ticket":"A-1"' in world.model.results()[-1]
    kinds = [it.kind for it in world.events(run)]
    assert kinds.index("call.settled") < kinds.index("approval.decided")
    assert len(world.audit("agent.approval.withdrawn")) == 1


def test_a_run_that_sleeps_on_what_did_not_happen_goes_on_once_its_request_is_approved(
    world: World,
) -> None:
    run, call, approval = waiting_for_same_intent(world)
    said = it_did_not(call_id=call.id, **LOOKED)
    assert (said.withdrawn, said.waiting) == ((), (approval.id,))
    assert Run.objects.get(id=run.id).status == "waiting"
    user = get_user_model().objects.create_user("dora", password="x")
    user.user_permissions.add(Permission.objects.get(codename="decide"))
    decide(
        approval_id=approval.id, status=ApprovalStatus.APPROVED, actor="dora", reason="it did not", digest=approval.digest,
    )  # fmt: skip
    assert world.process("third").carry().status == "answered"
    assert world.vendor.received == ["blind", "blind"]


@pytest.mark.parametrize("first", ["the approval", "the word"])
def test_what_was_approved_before_it_was_known_to_have_happened_is_not_made_again(
    world: World, first: str
) -> None:
    """Approved of what nobody knew, and not on its way yet: who says that it happened is heard."""
    _, call, approval = waiting_for_same_intent(world)
    user = get_user_model().objects.create_user("dora", password="x")
    user.user_permissions.add(Permission.objects.get(codename="decide"))
    decide(
        approval_id=approval.id, status=ApprovalStatus.APPROVED, actor="dora", reason="go on", digest=approval.digest,
    )  # fmt: skip
    third = world.process("third")
    ((run_id, attempt),) = third.take()
    if first == "the approval":
        said = it_happened(call_id=call.id, result={"ticket": "A-1"}, **LOOKED)
        assert said.withdrawn == (approval.id,)
    assert third.go_on(run_id, attempt).status == "answered"
    approval.refresh_from_db()
    if first == "the approval":
        assert (world.vendor.received, approval.status) == (["blind"], "withdrawn")
        assert (approval.decided_by, approval.settled_reason) == (
            "olga",
            f"call {call.id}, the same as this one, happened: looked at the vendor",
        )
        assert "happened: looked at the vendor" in world.model.results()[-1]
        assert '"ticket":"A-1"' in world.model.results()[-1]
    else:
        assert (world.vendor.received, approval.status) == (["blind", "blind"], "consumed")


def test_only_the_first_word_counts_and_the_second_is_told_whose_it_was(world: World) -> None:
    call = unknown_write(world)
    it_did_not(call_id=call.id, **LOOKED)
    with pytest.raises(CallSettled, match="olga said that it did not happen: looked at the vendor"):
        it_happened(call_id=call.id, result=None, actor="otto", reason="I saw it")
    call.refresh_from_db()
    assert (call.fate, call.settled_by) == ("failed", "olga")


def test_of_two_who_say_it_at_once_one_is_heard(world: World) -> None:
    call = unknown_write(world)
    heard: list[object] = []

    def say(verb: Any, **more: Any) -> None:
        try:
            heard.append(verb(call_id=call.id, **LOOKED, **more))
        except CallSettled as error:
            heard.append(error)
        finally:
            connection.close()

    with psycopg.connect(world.url) as holding:
        holding.execute("SELECT 1 FROM runs_run WHERE id = %s FOR NO KEY UPDATE", [call.run_id])
        saying = [
            threading.Thread(target=say, args=(it_did_not,)),
            threading.Thread(target=say, args=(it_happened,), kwargs={"result": 1}),
        ]
        for it in saying:
            it.start()
        wait_for_locks(world, 2)
    for it in saying:
        it.join()
    assert sorted(type(it).__name__ for it in heard) == ["CallSettled", "Said"]
    assert len(world.audit("agent.call.settled_by_person")) == 1


def wait_for_locks(world: World, number: int) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(500):
        if world.sql(waiting) == [(number,)]:
            return
        threading.Event().wait(0.01)
    raise AssertionError("nobody waits")


def test_a_mark_that_its_run_settles_itself_is_left_alone_wherever_that_stands(
    world: World,
) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    call = world.call(run, 1)
    refused = {
        "running": "being carried",
        "queued": "waits for a process",
        "paused": "put that back, or stop the run",
    }
    for status, words in refused.items():
        if status == "queued":
            world.prove_dead(first)
        if status == "paused":
            world.sql("UPDATE runs_run SET status = 'paused'")
        for verb in (it_did_not, look_again, lambda **it: it_happened(result=None, **it)):
            with pytest.raises(CallUnderWay, match=words):
                verb(call_id=call.id, **LOOKED)
    stop_run(run_id=run.id, actor="olga", reason="enough")
    assert world.process("second").carry().status == "stopped"
    world.sql("DELETE FROM leases_holder WHERE id = %s", first.holder)
    it_did_not(call_id=call.id, **LOOKED)
    call.refresh_from_db()
    assert call.fate == "failed"


def test_a_held_call_is_for_its_decision(world: World) -> None:
    run, _, approval = waiting_for_same_intent(world)
    with pytest.raises(CallUnderWay, match="held for a person"):
        it_did_not(call_id=world.call(run, 2).id, **LOOKED)
    assert approval.status == "pending"


def test_a_run_that_died_in_the_same_step_hears_what_the_person_said(world: World) -> None:
    run = world.start(calls(SAME, ("v/keyed", {"n": 2})), says("done"))
    leave_unknown(world)
    second = world.process("second")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        second.carry()
    it_happened(call_id=world.call(run, 1).id, result={"ticket": "A-1"}, **LOOKED)
    world.prove_dead(second)
    assert world.process("third").carry().status == "answered"
    assert world.model.results()[0] == '{"ticket":"A-1"}'


def test_what_was_found_at_the_vendor_did_happen(world: World) -> None:
    call = unknown_write(world, "readable")
    world.sql("UPDATE runs_call SET late_finding = 'found', late_look_at = NULL")
    for verb in (it_did_not, look_again):
        with pytest.raises(CallFound):
            verb(call_id=call.id, **LOOKED)
    assert it_happened(call_id=call.id, result="7", **LOOKED).call.fate == "done"


def test_the_vendor_is_asked_once_more_by_the_usual_late_look(world: World) -> None:
    call = unknown_write(world, "readable")
    world.sql("UPDATE runs_call SET late_finding = 'not_found', late_look_at = NULL")
    assert look_late() == 0
    look_again(call_id=call.id, **LOOKED)
    world.vendor.rows.append({"id": 1, "tool": "readable", "client_key": call.step_key})
    assert look_late() == 1
    call.refresh_from_db()
    assert (call.fate, call.late_finding) == ("unknown", "found")
    (told,) = world.audit("agent.call.look_again")
    assert told["was"] == {"late_finding": "not_found"}


def test_a_tool_without_a_reader_cannot_be_asked(world: World) -> None:
    call = unknown_write(world, "blind")
    with pytest.raises(NoReader, match="look at the vendor yourself"):
        look_again(call_id=call.id, **LOOKED)
    assert world.audit("agent.call.look_again") == []


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "two\nlines", "\u202ehidden"])
def test_a_reason_is_one_line_that_can_be_read(world: World, reason: str) -> None:
    call = unknown_write(world)
    for verb in (it_did_not, look_again, lambda **it: it_happened(result=None, **it)):
        with pytest.raises(BadInput, match="reason"):
            verb(call_id=call.id, actor="olga", reason=reason)
    call.refresh_from_db()
    assert call.fate == "unknown"


def test_a_result_is_no_larger_than_its_tool_may_return(world: World) -> None:
    world.sql("UPDATE gateway_tool SET limit_bytes = 100")
    call = unknown_write(world)
    with pytest.raises(BadInput, match="larger than 100 bytes"):
        it_happened(call_id=call.id, result="x" * 101, **LOOKED)
    call.refresh_from_db()
    assert call.fate == "unknown"
    it_happened(call_id=call.id, result="x" * 50, **LOOKED)


def test_there_is_no_such_call(world: World) -> None:
    for number in (0, 7, 1 << 63, 1 << 80):
        with pytest.raises(CallNotFound):
            it_did_not(call_id=number, **LOOKED)


def test_a_run_that_was_sealed_anew_meanwhile_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = unknown_write(world)
    monkeypatch.setattr(
        "runs.settle_by_person._event",
        lambda *_: (world.sql("UPDATE runs_run SET key_id = 'k2'"), ([], []))[1],
    )
    with pytest.raises(Conflict, match="changed meanwhile"):
        it_did_not(call_id=call.id, **LOOKED)
    call.refresh_from_db()
    assert call.fate == "unknown"


def test_without_the_key_of_a_run_that_ended_the_word_counts_and_no_result_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = unknown_write(world)
    conf = dataclasses.replace(settings.LIYAGENT, seal_keys=(("other", bytes(32)),))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    with pytest.raises(KeyMissing):
        it_happened(call_id=call.id, result={"ticket": "A-1"}, **LOOKED)
    assert it_happened(call_id=call.id, result=None, **LOOKED).call.outcome is None


def test_events_that_are_switched_off_are_not_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = unknown_write(world)
    before = RunEvent.objects.count()
    conf = dataclasses.replace(settings.LIYAGENT, run_events_enabled=False)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    it_did_not(call_id=call.id, **LOOKED)
    assert RunEvent.objects.count() == before
