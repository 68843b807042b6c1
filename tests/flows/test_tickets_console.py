"""Tickets in the console: all that one is about on its page, and changes of exactly what was seen."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.audit.models import AuditRow
from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.find import find_ticket
from liyagent.tickets.models import Ticket
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user
from tests.unit.tickets.conftest import filed

LIST, ONE = "/admin/tickets/ticket/", "/admin/tickets/ticket/T-000001/change/"
WORKER = ("tickets.view_ticket", "tickets.work")
HOSTILE = "<script>alert(1)</script>\u202eevil"


def client_of(name: str, *permissions: str) -> Client:
    user = make_user(name, *permissions)
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ann(fresh_db: FreshDatabase) -> Client:
    """One who works on tickets."""
    return client_of("ann", *WORKER)


def text(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def address(ticket: Ticket, verb: str) -> str:
    return f"{LIST}{ticket.pk}/{verb}/"


def test_the_page_of_a_ticket_shows_all_it_is_about_and_nothing_in_it_is_obeyed(
    ann: Client,
) -> None:
    filed(subject=f"failed {HOSTILE}", body={"What failed": HOSTILE, HOSTILE: "x"})
    comment_ticket(number="T-000001", text=HOSTILE, actor="ben")
    page = text(ann, ONE)
    assert "T-000001" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;\\u202eevil") >= 4
    assert text(ann, f"{LIST}{find_ticket('T-000001').pk}/change/").count("What failed") == 1


def test_a_ticket_is_taken_on_by_who_saw_it_as_it_stands(ann: Client) -> None:
    ticket = filed()
    asked = text(ann, f"{address(ticket, 'change-it')}?state=in_progress")
    assert '<option value="in_progress" selected' in asked
    given = {
        "state": "in_progress",
        "priority": "P1",
        "queue": "Network",
        "reason": "",
        "revision": "0",
    }
    ann.post(address(ticket, "change-it"), given)
    stands = find_ticket("T-000001")
    assert (stands.state, stands.priority, stands.queue, stands.changed_by) == ("in_progress", "P1", "Network", "ann")  # fmt: skip
    ben = client_of("ben", *WORKER)
    told = ben.post(address(ticket, "change-it"), {**given, "state": "closed"}, follow=True)
    assert "changed last by ann, and not at 0" in told.content.decode()
    assert find_ticket("T-000001").state == "in_progress"
    kept = ann.post(address(ticket, "change-it"), {**given, "queue": " ", "revision": "1"})
    assert (kept.status_code, 'name="revision" value="1"' in kept.content.decode()) == (200, True)


def test_a_comment_stands_and_words_that_cannot_be_kept_are_shown_again(ann: Client) -> None:
    ticket = filed()
    assert ann.get(address(ticket, "comment")).status_code == 200
    ann.post(address(ticket, "comment"), {"text": "on it"})
    assert "on it" in text(ann, ONE)
    kept = ann.post(address(ticket, "comment"), {"text": "y" * 10_001}).content.decode()
    assert "y" * 10_001 in kept
    assert Ticket.objects.get().comments == 1


def test_getting_a_page_changes_nothing(ann: Client) -> None:
    ticket = filed()
    for path in (ONE, f"{address(ticket, 'change-it')}?state=closed", address(ticket, "comment")):
        assert ann.get(path).status_code == 200
    assert (Ticket.objects.get().revision, Ticket.objects.get().comments) == (0, 0)
    assert AuditRow.objects.filter(action__startswith="ticket.").count() == 1
    assert ann.post(ONE, {"state": "closed"}).status_code == 403


def test_a_closed_ticket_offers_nothing(ann: Client) -> None:
    ticket = filed()
    given = {"state": "closed", "priority": "P2", "queue": "x", "reason": "done", "revision": "0"}
    ann.post(address(ticket, "change-it"), given)
    page = text(ann, ONE)
    assert "Closed is the end" in page
    assert "change-it" not in page
    told = ann.post(address(ticket, "comment"), {"text": "late"}, follow=True).content.decode()
    assert "is closed" in told
    assert Ticket.objects.get().comments == 0


def test_who_only_sees_tickets_reads_no_words_and_is_offered_nothing(ann: Client) -> None:
    ticket = filed()
    comment_ticket(number="T-000001", text="the words", actor="ann")
    vera = client_of("vera", "tickets.view_ticket")
    page = text(vera, ONE)
    assert "Run of triage failed" in page
    assert "502" not in page
    assert "the words" not in page
    assert "change-it" not in page
    for verb in ("comment", "change-it"):
        assert vera.post(address(ticket, verb), {"text": "x"}).status_code == 403
    nobody = client_of("nobody", "runs.view_run")
    assert nobody.get(ONE).status_code == nobody.get(LIST).status_code == 403
    rita = client_of("rita", "tickets.view_ticket", "transcripts.content.read")
    assert "502" in text(rita, ONE)


def test_words_that_cannot_be_opened_are_told_of_beside_the_rest(ann: Client) -> None:
    filed()
    Ticket.objects.update(key_id="gone")
    assert "sealed with the key &#x27;gone&#x27;" in text(ann, ONE)


def test_the_list_finds_by_what_an_index_leads_to_and_reads_no_body(ann: Client) -> None:
    tickets = [filed(mission=f"INC-{it}", queue="Network" if it else "Desk") for it in range(3)]
    for term, found in (("t-000002", {2}), (str(tickets[2].run_id), {3}), ("INC-0", {1}), ("Network", {2, 3}), ("x", set())):  # fmt: skip
        page = text(ann, f"{LIST}?q={term}")
        assert {it for it in (1, 2, 3) if f"T-00000{it}" in page.partition("result_list")[2]} == found  # fmt: skip
    with CaptureQueriesContext(connection) as queries:
        assert ann.get(f"{LIST}?state__exact=open&priority__exact=P2").status_code == 200
    assert not [it for it in queries if '"sealed"' in it["sql"]]
    assert len(queries) < 15


def test_earlier_comments_are_led_to_and_a_bad_place_breaks_nothing(ann: Client) -> None:
    filed()
    for number in range(52):
        comment_ticket(number="T-000001", text=f"comment no {number}", actor="ann")
    page = text(ann, ONE)
    assert ("no 51" in page, "no 1<" in page) == (True, False)
    cursor = page.partition("?before=")[2].partition("#")[0]
    earlier = text(ann, f"{ONE}?before={cursor}")
    assert ("no 51" in earlier, "no 1<" in earlier) == (False, True)
    assert ann.get(f"{ONE}?before=%00x").status_code == 400
    assert ann.get(f"{ONE}?before=x").status_code == 200


def test_a_number_that_is_not_there_leads_to_the_list(ann: Client) -> None:
    told = ann.get(f"{LIST}T-000009/change/", follow=True).content.decode()
    assert "There is no ticket T-000009" in told


def test_the_page_of_a_mission_leads_to_its_tickets(ann: Client) -> None:
    filed()
    page = text(client_of("mia", "runs.view_run", "tickets.view_ticket"), "/admin/mission/INC-1/")  # fmt: skip
    assert f'href="{ONE}"' in page
    assert ann.get(ONE).status_code == 200
