"""What a failed run left is a thread: what a person was given can be shown for ever, and who decided on it (HO-03, HO-04)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from handoffs.models import Reading, Snapshot, Version
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.audit.models import AuditRow
from liyagent.gateway.local import ToolFailed
from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from runs.hand_off import hand_off, hand_off_due
from runs.models import Run
from runs.saga_handoff import thread_of_saga
from runs.saga_page import saga_told
from sagas.models import Saga
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.conftest import World, says, world
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO, filed, stubborn, unswept, word
from tests.unit.runs.carrying.test_outside_ticket import CONF
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands, works
from tests.unit.runs.delegating.handing import audited, bodies, readers, sides, threads, told

__all__ = ["cast", "stubborn", "undoing", "unswept", "world"]

HANDED = [("written", 1)]


def the_thread(run: Run) -> Any:
    """The one thread that there is: that of what the run left."""
    assert threads() == [thread_of_saga(run.id)]
    return thread_of_saga(run.id)


def digest_of(thread: Any, number: int = 1) -> str:
    return Version.objects.get(thread=thread, number=number).snapshot_id


@pytest.mark.promise("HO-03", "HO-04", "SG-08")
def test_what_is_put_before_a_person_is_a_snapshot_that_saga_and_request_name(
    undoing: World,
) -> None:
    run = fail(undoing, *TWO)
    undone(undoing)
    thread, approval = the_thread(run), filed(run)
    assert sides(thread) == [("agent:triage", "people")]
    assert bodies(thread) == [arguments_of(approval)]
    assert Saga.objects.get().handoff_digest == approval.handoff_digest == digest_of(thread)
    assert audited(thread) == [(1, "liyagent")]
    assert told(run) == HANDED
    kinds = [it.kind for it in undoing.events(run)]
    assert kinds[-2:] == ["handoff", "saga.handoff"]
    assert readers(thread) == [], "nobody has decided yet"
    shown = saga_told(Saga.objects.get(), {}, opens=False)["filed"]
    assert shown["thread"] == thread


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("status", [ApprovalStatus.APPROVED, ApprovalStatus.REJECTED])
def test_who_decides_has_read_it(undoing: World, status: ApprovalStatus) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    word(filed(run), status)
    word(filed(run), status)
    reading = Reading.objects.get()
    assert (reading.thread, reading.number) == (thread_of_saga(run.id), 1)
    assert (reading.reader, reading.run_id) == ("kim", None)
    assert reading.digest == digest_of(reading.thread)


def test_a_request_that_was_filed_before_hand_offs_were_kept_is_decided_all_the_same(
    undoing: World,
) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    undoing.sql("UPDATE approvals_approval SET handoff_digest = ''")
    undoing.sql("UPDATE sagas_saga SET handoff_digest = ''")
    assert word(filed(run), ApprovalStatus.REJECTED).status == "rejected"
    assert not Reading.objects.exists()
    assert saga_told(Saga.objects.get(), {}, opens=False)["filed"]["thread"] is None


@pytest.mark.promise("HO-03", "EV-06")
def test_of_a_run_that_keeps_no_words_facts_are_kept_and_a_digest(stubborn: World) -> None:
    Agent.objects.update(recording="metadata")
    run = fail(stubborn, ("v/keyed", {"name": "Rosebud"}), ("v/blind", {"x": "Rosebud"}))
    undone(stubborn)
    (body,) = bodies(the_thread(run))
    assert set(body) == {"run", "counted", "not_undone", "words"}
    assert body["counted"]["not_undone"] == len(body["not_undone"]) > 0
    assert set(body["words"]) == {"sha256", "bytes"}
    text = Snapshot.objects.get().body
    assert "Rosebud" not in text
    assert "look after it" not in text


@pytest.mark.promise("HO-03", "EV-06")
def test_words_of_a_sub_agent_that_keeps_none_are_not_kept_by_its_root(
    world: World, cast: Cast
) -> None:
    undo = {"v/keyed": {"tool": "blind", "args": {"undo_of": "{{ result.id }}"}}}
    Agent.objects.update(compensations=undo)
    Agent.objects.filter(key="fixer").update(recording="metadata")
    cast.lists = {"triage": [hands("fixer"), says("")], "fixer": works("fixer")}
    run = world.start()
    carry_all(world)
    assert Saga.objects.get().handed_off_at is not None
    (body,) = bodies(thread_of_saga(run.id))
    assert set(body["words"]) == {"sha256", "bytes"}


@pytest.mark.promise("HO-03")
def test_a_ticket_names_the_thread_and_the_digest(undoing: World, settings: Settings) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket")
    run = fail(undoing, *TWO)
    undone(undoing)
    thread = the_thread(run)
    assert sides(thread) == [("agent:triage", "tickets")]
    body = body_of(Ticket.objects.get())
    assert isinstance(body, dict)
    named = body.pop("handoff")
    assert named == {"thread": str(thread), "digest": digest_of(thread)}
    assert bodies(thread) == [body]
    assert Saga.objects.get().handoff_digest == named["digest"]
    assert told(run) == HANDED


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize("is_filed", [True, False], ids=["there", "here after all"])
def test_a_ticket_elsewhere_names_it_too(
    undoing: World, settings: Settings, is_filed: bool
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket", tickets=CONF)
    run = fail(undoing, *TWO)
    undone(undoing)
    thread = the_thread(run)
    first = digest_of(thread)
    assert Saga.objects.get().handoff_digest == first
    assert told(run) == HANDED

    def fails(_tool: str) -> None:
        raise ToolFailed("the board is closed")

    if not is_filed:
        undoing.vendor.before_effect = fails
    undoing.process("filing").carry()
    assert hand_off(run.id) is None
    if is_filed:
        (ticket,) = [it for it in undoing.vendor.rows if "of" in it]
        assert str(thread) in ticket["text"]
        assert first in ticket["text"]
        assert told(run) == HANDED
        assert Saga.objects.get().handoff_digest == first
        return
    _, anew = bodies(thread)
    assert "the board is closed" in anew["not_filed_elsewhere"]["reason"]
    body = body_of(Ticket.objects.get())
    assert isinstance(body, dict)
    assert body["handoff"]["digest"] == digest_of(thread, 2) == Saga.objects.get().handoff_digest
    assert told(run) == [("written", 1), ("written", 2)]
    assert audited(thread) == [(1, "liyagent"), (2, "liyagent")]


@pytest.mark.promise("HO-03")
def test_where_nobody_is_told_nothing_is_handed_over(undoing: World, settings: Settings) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="none")
    fail(undoing, *TWO)
    undone(undoing)
    assert (hand_off_due(), threads()) == (0, [])


@pytest.mark.promise("HO-03", "HO-04")
def test_what_cannot_be_filed_leaves_no_version(
    unswept: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is one commit: version, request, events and audit."""
    run = fail(unswept, *TWO)
    undone(unswept)
    with monkeypatch.context() as patch:
        patch.setattr(Approval.objects, "create", _breaks)
        assert hand_off_due() == 0
    assert (threads(), told(run), Saga.objects.get().handoff_digest) == ([], [], "")
    assert not AuditRow.objects.filter(action="agent.handoff").exists()
    assert hand_off_due() == 1
    assert told(run) == HANDED
    the_thread(run)


@pytest.mark.promise("HO-03")
def test_a_person_who_wrote_that_very_number_meanwhile_is_written_behind(
    unswept: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket")
    run = fail(unswept, *TWO)
    undone(unswept)
    thread = thread_of_saga(run.id)
    unswept.sql("INSERT INTO handoffs_snapshot (digest, sender, recipient, kind, body) VALUES ('d', 'ann', 'tickets', 'saga', '1')")  # fmt: skip
    unswept.sql(
        "INSERT INTO handoffs_version (thread, number, digest, author, mission, tag) VALUES (%s, 1, 'd', 'ann', 'm', '')",
        thread,
    )
    assert hand_off_due() == 1
    assert Saga.objects.get().handoff_digest == digest_of(thread, 2)
    assert Version.objects.get(number=2).parent == "d"


def _breaks(**_: Any) -> None:
    raise LookupError("odd")
