"""A turn is one run, however often it is asked; the next is told what was said before; one at a time (CR-05, CR-08)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from rest_framework.exceptions import Throttled

from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.entry.begin import begin_due
from liyagent.entry.copilot import history, receive
from liyagent.entry.copilot.conversations import Person, begin_conversation, find_conversation
from liyagent.entry.copilot.errors import ConversationUnknown, TurnKeyReused, TurnOpen
from liyagent.entry.copilot.forget import forget_old
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.tell import turns_told
from liyagent.entry.errors import ArrivalRefused
from liyagent.entry.models import Arrival
from liyagent.transcripts.models import Transcript
from runs.models import Run
from runs.stop import stop_run
from tests.unit.entry.copilot.conftest import Talk
from tests.unit.runs.carrying.conftest import never, says


@pytest.mark.promise("CR-05")
def test_a_turn_is_a_run_of_its_owner_and_its_answer_stands_in_the_conversation(talk: Talk) -> None:
    turn = talk.answered("what fills /var?", "old logs")
    run = talk.run_of(turn)
    assert (run.entry, run.started_by, run.mission) == ("copilot", "ann", str(talk.conversation.id))
    assert (turn.number, turn.outcome, turn.ended_at) == (1, "answered", run.ended_at)
    (told,) = turns_told(talk.conversation, [turn], talk.person)
    assert (told["task"], told["answer"]) == ("what fills /var?", "old logs")
    assert Transcript.objects.filter(run_id=run.id).exists()


def test_the_next_turn_is_told_what_was_said_before(talk: Talk) -> None:
    talk.answered("what fills /var?", "old logs")
    turn = talk.answered("clean it", "cleaned")
    assert talk.told_to_the_model() == [
        ("user", "what fills /var?"),
        ("assistant", "old logs"),
        ("user", "clean it"),
    ]
    assert (turn.number, turn.given, turn.left_out) == (2, 1, 0)


def test_a_turn_that_ended_without_an_answer_is_told_as_such(talk: Talk) -> None:
    turn = talk.ask("what fills /var?").turn
    stop_run(run_id=turn.run_id, actor="ann", reason="enough")
    assert talk.world.process("first").carry().status == "stopped"
    talk.answered("again", "old logs")
    assert talk.told_to_the_model()[1] == (
        "assistant",
        "(This turn ended without an answer: stopped.)",
    )


@pytest.mark.parametrize(("bound", "value"), [("MOST_TURNS", 1), ("MOST_CHARACTERS", 12)])
def test_the_oldest_turns_are_left_out_beyond_a_bound_and_that_is_said(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    talk.answered("one", "first")
    talk.answered("two", "second")
    monkeypatch.setattr(history, bound, value)
    turn = talk.answered("three", "third")
    assert (turn.given, turn.left_out) == (1, 1)
    assert talk.told_to_the_model() == [
        ("user", "(1 earlier turns of this conversation are left out.)\n\ntwo"),
        ("assistant", "second"),
        ("user", "three"),
    ]


def test_a_conversation_goes_on_one_turn_at_a_time(talk: Talk) -> None:
    first = talk.ask("one").turn
    with pytest.raises(TurnOpen, match=str(first.run_id)):
        talk.ask("two")
    assert Turn.objects.count() == Arrival.objects.count() == Run.objects.count() == 1


@pytest.mark.field("FL-70")
def test_the_same_turn_again_is_the_first_while_it_runs_and_after_it_ended(talk: Talk) -> None:
    first = talk.ask("one", key="k-1")
    again = talk.ask("one", key="k-1")
    assert (first.is_new, again.is_new) == (True, False)
    talk.world.model.steps = [says("done")]
    talk.world.process().carry()
    last = talk.ask("one", key="k-1")
    assert first.turn.run_id == again.turn.run_id == last.turn.run_id
    with pytest.raises(TurnKeyReused, match=str(first.turn.run_id)):
        talk.ask("two", key="k-1")
    assert Run.objects.count() == 1


def test_of_many_that_ask_at_once_with_one_key_all_find_one_turn(talk: Talk) -> None:
    def ask(_number: int) -> object:
        try:
            return talk.ask("one", key="k-1").turn.run_id
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
    assert Turn.objects.count() == Run.objects.count() == 1


def test_of_many_that_ask_at_once_one_is_taken_on(talk: Talk) -> None:
    def ask(number: int) -> object:
        try:
            return talk.ask(f"turn {number}").turn.run_id
        except TurnOpen:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        taken = [it for it in pool.map(ask, range(16)) if it]
    assert len(taken) == 1
    assert Turn.objects.count() == Arrival.objects.count() == 1


@pytest.mark.promise("CR-05")
def test_a_turn_whose_process_dies_before_its_run_began_is_begun_by_another(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        """The process ends here."""

    def die(_run_id: object) -> None:
        raise Died

    with monkeypatch.context() as at_once:
        at_once.setattr(receive, "begin_arrival", die)
        with pytest.raises(Died):
            talk.ask("one", key="k-1")
    turn = Turn.objects.get()
    assert not Run.objects.exists()
    (told,) = turns_told(talk.conversation, [turn], talk.person)
    assert told["status"] == "received"
    talk.world.sql("UPDATE entry_arrival SET claimed_until = liyagent_now() - interval '1 s'")
    assert begin_due(never) == 1
    assert Run.objects.get().id == turn.run_id
    assert talk.ask("one", key="k-1").turn.run_id == turn.run_id


def test_a_turn_that_may_not_start_is_kept_as_refused_and_the_next_may_be_asked(talk: Talk) -> None:
    Agent.objects.update(is_enabled=False)
    for _ in range(2):
        with pytest.raises(ArrivalRefused, match="switched off"):
            talk.ask("one", key="k-1")
    turn = Turn.objects.get()
    assert (turn.outcome, turn.ended_at is None) == ("refused", False)
    (told,) = turns_told(talk.conversation, [turn], talk.person)
    assert (told["status"], told["answer"]) == ("refused", None)
    assert "switched off" in told["reason"]
    Agent.objects.update(is_enabled=True)
    assert talk.answered("two", "done").number == 2


def test_nobody_asks_in_or_sees_another_s_conversation_but_who_may_see_all(talk: Talk) -> None:
    with pytest.raises(ConversationUnknown):
        talk.ask("one", by="bob")
    with pytest.raises(ConversationUnknown):
        find_conversation(Person(username="bob"), talk.conversation.id)
    seen = Person(username="bob", sees_all=True)
    assert find_conversation(seen, talk.conversation.id) == talk.conversation
    turn = talk.answered("one", "first")
    (told,) = turns_told(talk.conversation, [turn], seen)
    assert "task" not in told
    assert "answer" not in told


def test_what_says_nothing_is_refused(talk: Talk) -> None:
    with pytest.raises(BadInput):
        talk.ask("  ")
    assert not Turn.objects.exists()


def test_what_a_guardrail_masks_is_kept_masked(talk: Talk) -> None:
    mail = {"kind": "personal_data", "what": ["email"], "action": "mask"}
    Agent.objects.update(guardrails={"input": [mail]})
    turn = talk.ask("write to ada@b.io").turn
    (told,) = turns_told(talk.conversation, [turn], Person(username="ann", reads_words=True))
    assert "b.io" not in told["task"]


def test_who_has_many_open_turns_is_asked_to_come_later_and_nothing_is_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "MOST_OPEN", 1)
    talk.ask("one")
    other = begin_conversation(talk.person, agent_key="triage", title="", mission="", request_id="")
    talk.conversation = other
    with pytest.raises(Throttled):
        talk.ask("two")
    assert Turn.objects.count() == Arrival.objects.count() == 1


def test_words_are_sealed_and_those_that_ended_long_ago_go(talk: Talk) -> None:
    Agent.objects.update(recording="metadata")
    turn = talk.answered("plumtree", "an answer")
    assert b"plumtree" not in bytes(turn.sealed or b"")
    forget_old(never)
    assert Turn.objects.filter(sealed__isnull=False).exists()
    talk.world.sql("UPDATE copilot_turn SET ended_at = ended_at - interval '8 days'")
    forget_old(never)
    turn.refresh_from_db()
    assert turn.sealed is None
    assert not Transcript.objects.exists()
    (told,) = turns_told(talk.conversation, [turn], talk.person)
    assert (told["task"], told["answer"]) == (None, None)
    assert told["answer_missing"]
    second = talk.answered("two", "done")
    assert (second.given, second.left_out) == (0, 1)


def test_a_conversation_that_nobody_goes_on_with_is_forgotten_and_an_empty_one_after_a_day(
    talk: Talk,
) -> None:
    talk.answered("one", "first")
    begin_conversation(talk.person, agent_key="triage", title="", mission="", request_id="")
    age = "UPDATE copilot_conversation SET changed_at = changed_at - interval '{}'"
    talk.world.sql(age.format("2 days"))
    forget_old(never)
    assert [it.id for it in Conversation.objects.all()] == [talk.conversation.id]
    talk.world.sql(age.format("60 days"))
    forget_old(never)
    assert Conversation.objects.exists()
    talk.world.sql("UPDATE copilot_turn SET ended_at = ended_at - interval '8 days'")
    forget_old(never)
    assert not Conversation.objects.exists()
    assert Run.objects.exists()
