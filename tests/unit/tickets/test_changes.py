"""People comment on tickets and change them: each change of what was seen, once, audited; closed is the end."""

from __future__ import annotations

import dataclasses
import os
import threading
from typing import Any

import pytest
from django.db import connections, transaction
from pytest_django import Settings

from liyagent.audit.models import AuditRow
from liyagent.core.ids import new_id
from liyagent.core.paging import read_cursor
from liyagent.tickets import comment_ticket as commenting
from liyagent.tickets.change_ticket import change_ticket
from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.errors import (
    BadTicket,
    TicketChanged,
    TicketClosed,
    TicketFull,
    TicketUnknown,
)
from liyagent.tickets.find import find_ticket
from liyagent.tickets.listing import list_comments, list_tickets
from liyagent.tickets.models import NOW, Comment, Ticket
from liyagent.tickets.words import body_of, text_of
from runs.reseal import reseal
from runs.seals import key_uses
from tests.unit.tickets.conftest import BODY, Filing
from tests.unit.tickets.test_file_ticket import wait_until_blocked

ONE = "T-000001"


def changed(**wanted: Any) -> Ticket:
    values = {"number": ONE, "revision": 0, "actor": "ann", **wanted}
    return change_ticket(**values)


def test_a_change_is_audited_with_what_it_was_and_raises_the_revision(file: Filing) -> None:
    file()
    ticket = changed(state="in_progress", queue="Network", reason="mine")
    assert (ticket.state, ticket.queue, ticket.revision, ticket.changed_by) == ("in_progress", "Network", 1, "ann")  # fmt: skip
    assert ticket.changed_at > ticket.created_at
    row = AuditRow.objects.get(action="ticket.changed")
    assert (row.actor, row.mission, row.run_id, row.agent) == ("ann", "INC-1", ticket.run_id, "triage")  # fmt: skip
    assert row.detail == {
        "ticket": ONE, "from": {"state": "open", "queue": "Service Desk L1"}, "to": {"state": "in_progress", "queue": "Network"},
        "reason": "mine",
    }  # fmt: skip


def test_a_change_of_what_somebody_changed_meanwhile_is_refused_and_shows_what_stands(
    file: Filing,
) -> None:
    file()
    changed(state="in_progress")
    with pytest.raises(TicketChanged, match="revision 1, changed last by ann, and not at 0: it is in_progress"):  # fmt: skip
        changed(state="resolved", actor="ben")
    assert find_ticket(ONE).state == "in_progress"
    assert AuditRow.objects.filter(action="ticket.changed").count() == 1


def test_of_two_changes_at_once_one_is_made(file: Filing) -> None:
    file()
    told: list[str] = []

    def second() -> None:
        try:
            changed(state="resolved", actor="ben")
        except TicketChanged as error:
            told.append(error.code)
        finally:
            connections.close_all()

    thread = threading.Thread(target=second)
    with transaction.atomic(durable=True):
        Ticket.objects.filter(serial=1).update(state="in_progress", revision=1, changed_by="ann")
        thread.start()
        wait_until_blocked()
    thread.join(10)
    assert told == ["ticket.changed"]
    assert find_ticket(ONE).state == "in_progress"
    assert not AuditRow.objects.filter(action="ticket.changed").exists()


def test_a_change_whose_answer_was_lost_is_made_once(file: Filing) -> None:
    file()
    first = changed(state="closed")
    again = changed(state="closed")
    assert (again.revision, again.closed_at) == (1, first.closed_at)
    assert AuditRow.objects.filter(action="ticket.changed").count() == 1


def test_what_stands_so_already_changes_nothing(file: Filing) -> None:
    file()
    assert changed(state="open", priority="P2").revision == 0
    assert not AuditRow.objects.filter(action="ticket.changed").exists()


def test_nothing_of_a_closed_ticket_changes(file: Filing) -> None:
    file()
    assert changed(state="closed").closed_at is not None
    with pytest.raises(TicketClosed, match="T-000001 is closed, by ann"):
        changed(revision=1, state="open")
    with pytest.raises(TicketClosed):
        comment_ticket(number=ONE, text="late", actor="ann")
    assert (find_ticket(ONE).state, Comment.objects.count()) == ("closed", 0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "one of state, priority, queue"),
        ({"state": "done"}, "open, in_progress, resolved, closed"),
        ({"priority": "high"}, "P1, P2, P3, P4"),
        ({"queue": "x" * 81}, "1 to 80"),
        ({"state": "closed", "reason": "a\nb"}, "cannot be seen"),
        ({"state": "closed", "reason": "x" * 501}, "500 at most"),
    ],
)
def test_a_change_that_cannot_be_made_says_what_is_wanted(
    file: Filing, wrong: dict[str, Any], told: str
) -> None:
    file()
    with pytest.raises(BadTicket, match=told):
        changed(**wrong)


@pytest.mark.parametrize("number", ["T-000002", "T-1", "1", "", "T-" + "9" * 30, "T-00000\u0661"])
def test_a_number_of_no_ticket_is_told(file: Filing, number: str) -> None:
    file()
    with pytest.raises(TicketUnknown):
        find_ticket(number)
    assert find_ticket(" t-000001 ").number == ONE


def test_a_comment_is_sealed_counted_and_audited_without_its_words(file: Filing) -> None:
    file()
    comment = comment_ticket(number=ONE, text=" the pager is back\n", actor="ann")
    assert (comment.place, comment.by, text_of(comment)) == (1, "ann", "the pager is back")
    assert b"pager" not in bytes(comment.sealed)
    assert find_ticket(ONE).comments == 1
    row = AuditRow.objects.get(action="ticket.commented")
    assert (row.actor, row.detail) == ("ann", {"ticket": ONE, "comment": 1})


def test_the_same_words_again_are_the_comment_there_is(file: Filing) -> None:
    file()
    first = comment_ticket(number=ONE, text="on it", actor="ann")
    assert comment_ticket(number=ONE, text="on it", actor="ann").id == first.id
    assert comment_ticket(number=ONE, text="on it", actor="ben").place == 2
    assert comment_ticket(number=ONE, text="on it", actor="ann").place == 3
    assert find_ticket(ONE).comments == 3


def test_a_comment_waits_for_the_one_before_it(file: Filing) -> None:
    ticket = file()
    said: list[int] = []

    def second() -> None:
        try:
            said.append(comment_ticket(number=ONE, text="me too", actor="ben").place)
        finally:
            connections.close_all()

    thread = threading.Thread(target=second)
    with transaction.atomic(durable=True):
        Ticket.objects.select_for_update().get(id=ticket.id)
        Ticket.objects.filter(id=ticket.id).update(comments=1)
        Comment.objects.create(id=new_id(), ticket=ticket, place=1, by="ann", sealed=b"", key_id="", created_at=NOW)  # fmt: skip
        thread.start()
        wait_until_blocked()
    thread.join(10)
    assert (said, find_ticket(ONE).comments) == ([2], 2)


def test_comments_have_an_end(file: Filing, monkeypatch: pytest.MonkeyPatch) -> None:
    file()
    for text, told in (("", "empty"), ("\n ", "empty"), ("x" * 10_001, "10000 at most")):
        with pytest.raises(BadTicket, match=told):
            comment_ticket(number=ONE, text=text, actor="ann")
    monkeypatch.setattr(commenting, "MOST_COMMENTS", 1)
    comment_ticket(number=ONE, text="one", actor="ann")
    with pytest.raises(TicketFull):
        comment_ticket(number=ONE, text="two", actor="ann")


def test_tickets_are_listed_by_page_and_filter_the_newest_first(file: Filing) -> None:
    for number in range(6):
        file(priority="P1" if number % 2 else "P2", queue="A" if number < 3 else "B")
    first = list_tickets({"limit": "4"})
    assert [it.serial for it in first.rows] == [6, 5, 4, 3]
    rest = list_tickets({"limit": "4", "cursor": first.next_cursor})
    assert ([it.serial for it in rest.rows], rest.next_cursor) == ([2, 1], "")
    both = list_tickets({"queue": "A", "priority": "P2", "limit": "1"})
    assert [it.serial for it in both.rows] == [3]
    more = list_tickets({"queue": "A", "priority": "P2", "limit": "1", "cursor": both.next_cursor})
    assert ([it.serial for it in more.rows], more.next_cursor) == ([1], "")
    assert [it.serial for it in list_tickets({"run": str(first.rows[0].run_id)}).rows] == [6]
    assert len(list_tickets({"mission": "INC-1", "state": "open"}).rows) == 6
    assert list_tickets({"mission": "INC-2"}).rows == []
    with pytest.raises(BadTicket, match="wants one of open"):
        list_tickets({"state": "new"})


def test_a_page_of_two_filters_looks_no_further_than_its_bound_and_leads_on(
    file: Filing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        file(priority="P1" if number == 0 else "P2")
    monkeypatch.setattr("liyagent.tickets.listing.MOST_LOOKED_THROUGH", 2)
    asked = {"state": "open", "priority": "P1"}
    page = list_tickets(asked)
    assert (page.rows, read_cursor(page.next_cursor, parts=1)) == ([], ["4"])
    page = list_tickets({**asked, "cursor": page.next_cursor})
    page = list_tickets({**asked, "cursor": page.next_cursor})
    assert ([it.serial for it in page.rows], page.next_cursor) == ([1], "")


def test_comments_are_read_from_the_newest_back(file: Filing) -> None:
    ticket = file()
    for number in range(1, 6):
        comment_ticket(number=ONE, text=f"no {number}", actor="ann")
    page = list_comments(ticket, {"limit": "3"})
    assert [it.place for it in page.comments] == [3, 4, 5]
    before = list_comments(ticket, {"limit": "3", "cursor": page.before})
    assert ([it.place for it in before.comments], before.before) == ([1, 2], "")


@pytest.mark.field("FL-41")
def test_words_of_tickets_are_sealed_anew_with_a_new_key(file: Filing, settings: Settings) -> None:
    ticket = file()
    comment = comment_ticket(number=ONE, text="on it", actor="ann")
    old = settings.LIYAGENT.seal_keys[0]
    new = ("k2", os.urandom(32))
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=(new, old))
    assert {it.key_id: it.rows for it in key_uses()}[old[0]] == 2
    assert reseal(actor="olga").rows == 2
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=(new,))
    ticket.refresh_from_db()
    comment.refresh_from_db()
    assert (body_of(ticket), text_of(comment), ticket.key_id) == (BODY, "on it", "k2")
