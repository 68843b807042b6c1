"""The way of a call: judged, keyed, marked, sent, settled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import transaction

from liyagent.core.transactions import InTransaction
from liyagent.gateway.call import MOST_MARKS, make_call, prepare
from liyagent.gateway.outcome import Fate, KeyPlace, MaySend, NotSent, Outcome, Payload, Verdict
from tests.unit.gateway.support import (
    ASKER,
    PERMIT_ALL,
    RememberingScope,
    a_call,
    a_contract,
    a_read,
    always,
    never,
)


def no_way(_server: str) -> None:
    """A transport that needs none."""


class Sender:
    """A transport that remembers what it was given and answers with `fate`, asking `may_send` first."""

    def __init__(self, fate: Fate = Fate.DONE) -> None:
        self.fate = fate
        self.sent: list[Payload] = []

    def __call__(self, payload: Payload, may_send: MaySend) -> Outcome:
        """Send unless the mark's deadline has passed."""
        if not may_send():
            raise NotSent("late")
        self.sent.append(payload)
        return Outcome(fate=self.fate, result={"id": "OPS-1"}, error="")


def test_a_write_is_keyed_marked_sent_and_settled_in_this_order() -> None:
    scope, send = RememberingScope(), Sender()
    outcome = make_call(
        a_call(), scope, policy=PERMIT_ALL, send=send, open_way=lambda _: scope.steps.append("way")
    )
    assert scope.steps == ["key", "way", "mark", "settle"]
    assert outcome.fate is Fate.DONE
    assert outcome.key == "key-of-c-1"
    verdict, payload, settled = scope.settled[0]
    assert (payload, settled) == (send.sent[0], outcome)
    assert verdict.call == a_call()


def test_a_read_is_never_marked() -> None:
    scope = RememberingScope()
    make_call(a_read(), scope, policy=PERMIT_ALL, send=Sender())
    assert scope.steps == ["key", "settle"]


def test_a_refused_call_is_settled_without_a_key_a_mark_or_a_sending() -> None:
    scope, send = RememberingScope(), Sender()
    outcome = make_call(a_call(contract=None), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert (outcome.fate, scope.steps, send.sent) == (Fate.REFUSED, ["settle"], [])
    assert "there is no tool" in outcome.error


def test_a_held_call_is_the_scopes_to_decide_and_is_not_sent() -> None:
    scope, send = RememberingScope(), Sender()
    asker = replace(ASKER, write_posture="hold")
    outcome = make_call(a_call(asker=asker), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert (outcome.fate, scope.steps, send.sent) == (Fate.HELD, ["hold", "settle"], [])


@pytest.mark.field("FL-25")
def test_a_mark_that_cannot_be_stored_means_that_nothing_is_sent() -> None:
    class Broken(RememberingScope):
        def mark_sending(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
            """The database is gone."""
            raise ConnectionError("the commit was not seen")

    scope, send = Broken(), Sender()
    with pytest.raises(ConnectionError):
        make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert (send.sent, scope.settled) == ([], [])


@pytest.mark.field("FL-25")
def test_a_mark_that_answers_with_an_outcome_is_that_outcome() -> None:
    earlier = Outcome(fate=Fate.DONE, result="as before")
    scope, send = RememberingScope(marks=[earlier]), Sender()
    outcome = make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert (outcome.result, send.sent) == ("as before", [])


def test_a_mark_whose_deadline_passed_in_a_queue_is_made_anew() -> None:
    scope, send = RememberingScope(marks=[never, always]), Sender()
    outcome = make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert scope.steps == ["key", "mark", "mark", "settle"]
    assert (outcome.fate, len(send.sent)) == (Fate.DONE, 1)


def test_after_three_marks_that_came_too_late_it_failed_and_nothing_left() -> None:
    scope, send = RememberingScope(marks=[never] * (MOST_MARKS + 1)), Sender()
    outcome = make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert scope.steps == ["key", *["mark"] * MOST_MARKS, "settle"]
    assert (outcome.fate, send.sent) == (Fate.FAILED, [])
    assert outcome.error.startswith("not sent")


@pytest.mark.field("FL-78")
def test_a_write_of_unknown_fate_is_found_out_and_not_sent_again() -> None:
    scope, send = RememberingScope(), Sender(Fate.UNKNOWN)
    outcome = make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert scope.steps == ["key", "mark", "find_out", "settle"]
    assert (outcome.settlement, len(send.sent)) == ("told_unknown", 1)


def test_a_read_of_unknown_fate_is_an_error_and_no_doubt() -> None:
    scope = RememberingScope()
    outcome = make_call(a_read(), scope, policy=PERMIT_ALL, send=Sender(Fate.UNKNOWN))
    assert (outcome.fate, scope.steps) == (Fate.FAILED, ["key", "settle"])


def test_the_key_goes_where_the_contract_places_it_and_nowhere_else() -> None:
    contract = a_contract(key_place=KeyPlace.ARGUMENT, key_field="dedup", key_window_seconds=60)
    call = a_call(args={"title": "x", "dedup": "the model's own"}, contract=contract)
    assert prepare(call, "k").args == {"title": "x", "dedup": "k"}
    assert call.args["dedup"] == "the model's own"


@pytest.mark.field("FL-08")
def test_a_field_that_looks_like_a_key_is_none_without_a_contract() -> None:
    schema = {"type": "object", "properties": {"idempotency_key": {"type": "string"}}}
    call = a_call(args={"title": "x"}, contract=a_contract(schema=schema))
    assert prepare(call, "k").args == {"title": "x"}


def test_what_was_judged_cannot_change_what_leaves() -> None:
    call = a_call(args={"labels": ["a"]})
    payload = prepare(call, "k")
    call.args["labels"].append("b")
    assert payload.args == {"labels": ["a"]}


@pytest.mark.usefixtures("fresh_db")
def test_no_call_leaves_inside_a_transaction() -> None:
    scope, send = RememberingScope(), Sender()
    with transaction.atomic(), pytest.raises(InTransaction, match="calling jira/create_issue"):
        make_call(a_call(), scope, policy=PERMIT_ALL, send=send, open_way=no_way)
    assert (scope.steps, send.sent) == ([], [])
