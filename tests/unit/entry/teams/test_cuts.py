"""A process dies before each statement between a message and its reply: nothing is lost, and nothing appears twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from liyagent.entry.begin import begin_due
from liyagent.entry.models import Arrival
from runs.models import Run
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import never, says
from tests.unit.runs.carrying.vendor import Killed

GROWN = "grown by 20 GB"
MOST_CUTS = 80
Message = Callable[[dict[str, Any]], Any]


class Cut:
    """Dies before the statement of this number, counted from 1."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise Killed(sql)
        return execute(sql, params, many, context)


@contextmanager
def cut_before(number: int) -> Iterator[Cut]:
    """The process dies before one statement, if it comes to so many; what it has open is rolled back."""
    cut = Cut(number)
    try:
        with connection.execute_wrapper(cut):
            yield cut
    except Killed:
        # What a dead process held, the database lets go of.
        connection.close()


def settle(teams: Teams) -> None:
    """What those that live do: start, carry, hand on; all pauses and leases over."""
    teams.world.sql("UPDATE entry_arrival SET claimed_until = NULL, next_at = liyagent_now()")
    begin_due(never)
    if Run.objects.filter(status="queued").exists():
        teams.world.process().carry()
    for _ in range(4):
        teams.later()
        teams.deliver()


def all_cuts(teams: Teams, *, strike: Message, before: Message = lambda _message: None) -> int:
    """Cut at each statement of `strike` in turn, each in a turn of its own, until it comes through; return how many."""
    for number in range(1, MOST_CUTS):
        teams.world.model.steps = [says(GROWN)]
        conversation = {"id": f"c{number}", "tenantId": teams.connector.tenant}
        message = teams.channel.message("disk full", conversation=conversation)
        before(message)
        with cut_before(number) as cut:
            strike(message)
        # The channel may have heard nothing, and sends it again.
        assert teams.post(message).status_code == 200
        settle(teams)
        assert Arrival.objects.count() == Run.objects.count() == number
        assert [it.text for it in teams.connector.replies()] == [GROWN] * number
        assert {it.state for it in Arrival.objects.all()} == {"ended"}
        if cut.left > 0:
            return number
    raise AssertionError(f"more than {MOST_CUTS} statements")


@pytest.mark.promise("CR-04")
@pytest.mark.field("FL-74")
def test_a_message_whose_receiver_dies_at_any_statement_is_one_run_and_one_reply(
    teams: Teams,
) -> None:
    assert all_cuts(teams, strike=teams.post) > 5
    assert teams.connector.orphans() == []


@pytest.mark.promise("CR-08")
@pytest.mark.field("FL-74")
def test_a_reply_whose_sender_dies_at_any_statement_appears_once(teams: Teams) -> None:
    def carried(message: dict[str, Any]) -> None:
        teams.post(message)
        teams.world.process().carry()

    def hand_on(_message: dict[str, Any]) -> None:
        teams.deliver()
        teams.deliver()

    assert all_cuts(teams, before=carried, strike=hand_on) > 10
    # Posted, and dead before its id was kept: at one of all these statements alone.
    assert len(teams.connector.orphans()) <= 1
