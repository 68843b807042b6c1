"""Tickets over the API and at the shell."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from liyagent.core.errors import LiyagentError
from liyagent.tickets.models import Ticket
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.unit.tickets.conftest import BODY, filed

ALL, ONE = "/api/tickets", "/api/tickets/T-000001"
WORKER = ("tickets.view_ticket", "tickets.work")


@pytest.fixture
def worker(fresh_db: FreshDatabase) -> Api:
    """One who works on tickets."""
    return api_of(make_user("ann", *WORKER))


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.mark.promise("SG-09")
def test_a_ticket_is_read_commented_and_closed(worker: Api) -> None:
    ticket = filed()
    (row,) = worker.get(ALL).data["tickets"]
    assert (row["number"], row["source"], row["agent"]) == ("T-000001", ticket.source, "triage")
    assert "502" not in str(row)
    shown = worker.get(ONE).data
    assert (shown["body"], shown["words_missing"], shown["comments"]) == (BODY, "", [])
    said = worker.post(f"{ONE}/comments", {"text": "the pager is back"})
    assert (said.status, said.data["place"], said.data["by"]) == (201, 1, "ann")
    done = worker.send("PATCH", ONE, {"revision": 0, "state": "closed", "reason": "fixed"})
    assert (done.status, done.data["state"], done.data["revision"]) == (200, "closed", 1)
    shown = worker.get(ONE).data
    assert shown["comments"][0]["text"] == "the pager is back"
    assert (shown["ticket"]["comment_count"], shown["ticket"]["changed_by"]) == (1, "ann")
    refused = worker.post(f"{ONE}/comments", {"text": "and again"})
    assert (refused.status, refused.data["code"]) == (409, "ticket.closed")


def test_who_only_sees_tickets_reads_no_words_and_changes_nothing(worker: Api) -> None:
    filed()
    worker.post(f"{ONE}/comments", {"text": "the pager is back"})
    vera = api_of(make_user("vera", "tickets.view_ticket"))
    shown = vera.get(ONE).data
    assert (shown["body"], shown["comments"][0]["text"]) == (None, None)
    assert "tickets.work" in shown["words_missing"]
    assert vera.get(f"{ONE}/comments").data["comments"][0]["text"] is None
    assert vera.send("PATCH", ONE, {"revision": 0, "state": "closed"}).status == 403
    assert vera.post(f"{ONE}/comments", {"text": "x"}).status == 403
    rita = api_of(make_user("rita", "tickets.view_ticket", "transcripts.content.read"))
    assert rita.get(ONE).data["body"] == BODY
    assert api_of(make_user("nobody")).get(ALL).status == 403


def test_words_that_cannot_be_opened_keep_nobody_from_the_ticket(worker: Api) -> None:
    filed()
    Ticket.objects.update(key_id="gone")
    shown = worker.get(ONE).data
    assert (shown["body"], shown["ticket"]["state"]) == (None, "open")
    assert "the key 'gone', which is not here" in shown["words_missing"]
    assert worker.send("PATCH", ONE, {"revision": 0, "priority": "P1"}).status == 200


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"state": "closed"}, "revision"),
        ({"revision": 0}, "state, priority, queue"),
        ({"revision": 0, "state": "done"}, "state"),
        ({"revision": -1, "state": "closed"}, "revision"),
        ({"revision": 0, "subject": "x"}, "unknown field"),
        ({"revision": 0, "queue": 7}, "queue"),
        ([], "dictionary"),
    ],
)
def test_a_change_that_cannot_be_used_is_a_problem(worker: Api, body: Any, told: str) -> None:
    filed()
    refused = worker.send("PATCH", ONE, body)
    assert refused.status == 400
    assert told in str(refused.data)


def test_of_two_who_change_what_both_saw_the_second_is_told(worker: Api) -> None:
    filed()
    assert worker.send("PATCH", ONE, {"revision": 0, "state": "in_progress"}).status == 200
    ben = api_of(make_user("ben", *WORKER))
    refused = ben.send("PATCH", ONE, {"revision": 0, "state": "resolved"})
    assert (refused.status, refused.data["code"]) == (409, "ticket.changed")
    assert "changed last by ann" in refused.data["detail"]


def test_lists_lead_on_with_their_filters_and_refuse_what_is_unknown(worker: Api) -> None:
    for number in range(3):
        filed(priority="P1" if number < 2 else "P3")
    page = worker.get(f"{ALL}?priority=P1&state=open&limit=1").data
    assert [it["number"] for it in page["tickets"]] == ["T-000002"]
    rest = worker.get(page["next"]).data
    assert ([it["number"] for it in rest["tickets"]], rest["next"]) == (["T-000001"], None)
    for wrong in ("state=new", "limit=0", "cursor=x", "color=red", "mission=%20", "run=x"):
        assert worker.get(f"{ALL}?{wrong}").status == 400
    for unknown in ("T-000009", "x", "T-1"):
        refused = worker.get(f"{ALL}/{unknown}")
        assert (refused.status, refused.data["code"]) == (404, "ticket.not_found")
    worker.post(f"{ONE}/comments", {"text": "a"})
    worker.post(f"{ONE}/comments", {"text": "b"})
    page = worker.get(f"{ONE}/comments?limit=1").data
    assert [it["text"] for it in page["comments"]] == ["b"]
    assert [it["text"] for it in worker.get(page["before"]).data["comments"]] == ["a"]


def test_a_mission_tells_of_its_tickets(worker: Api) -> None:
    filed(subject="Run of triage failed")
    eve = api_of(make_user("eve", "runs.view_run", "tickets.view_ticket"))
    lines = eve.get("/api/missions/INC-1?source=tickets").data["entries"]
    assert [it["kind"] for it in lines] == ["ticket"]
    assert lines[0]["told"] == "ticket T-000001 was filed for Service Desk L1, P2; it is open"
    assert worker.get(lines[0]["url"]).status == 200


def test_the_shell_lists_shows_comments_and_changes(fresh_db: FreshDatabase) -> None:
    filed()
    filed(priority="P1")
    assert "T-000002  open   P1" in shell("tickets", "list")
    assert "T-000001" not in shell("tickets", "list", "--priority", "P1")
    assert "more: the same with --cursor" in shell("tickets", "list", "--limit", "1")
    assert "T-000001: comment 1" in shell("tickets", "comment", "T-000001", "on it")
    assert "T-000001: resolved" in shell("tickets", "state", "T-000001", "resolved")
    told = shell("tickets", "show", "T-000001")
    for line in ("state       resolved", "What failed\nstep close: 502 from the pager", "- pager/open", "\non it"):  # fmt: skip
        assert line in told
    for wrong in (
        ("show", "T-9"),
        ("comment", "T-000001", " "),
        ("state", "T-000007", "closed"),
        ("list", "--mission", " "),
    ):
        with pytest.raises(LiyagentError):
            shell("tickets", *wrong)
    with pytest.raises(CommandError):
        shell("tickets", "state", "T-000001", "done")
