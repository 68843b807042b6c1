"""Hand-offs in the console: threads, versions beside each other, who read which, and whether all of it verifies."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from handoffs.note_reading import note_reading
from handoffs.revise import revise
from missions.context import Stamp, stamped
from tests.databases import FreshDatabase
from tests.flows.test_handoffs_tampered import CHANGES, changed_by_hand
from tests.flows.test_tickets_console import HOSTILE, client_of
from tests.unit.handoffs.conftest import delegated, handed

LIST = "/admin/handoffs/version/"
READER = ("runs.view_run", "transcripts.content.read")
GONE, NEW = '<del class="liy-gone">', '<ins class="liy-new">'


@pytest.fixture
def rita(fresh_db: FreshDatabase) -> Client:
    """One who sees runs, and reads words."""
    return client_of("rita", *READER)


@pytest.fixture
def in_mission() -> Iterator[None]:
    """Work for a mission that somebody named."""
    with stamped(Stamp(request_id="req-1", mission="INC-7")):
        yield


def page(client: Client, thread: UUID, query: str = "") -> str:
    answer = client.get(f"{LIST}{thread}/change/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def text(client: Client, path: str = LIST) -> str:
    return client.get(path).content.decode()


@pytest.mark.promise("HO-01")
def test_a_thread_shows_its_newest_versions_beside_each_other_with_what_differs(
    rita: Client,
) -> None:
    newest = handed({"ask": "Reboot mail-eu?"}, {"ask": "Reboot mail-us?"})
    note_reading(thread=newest.thread, number=2, digest=newest.snapshot_id, reader="ben")
    shown = page(rita, newest.thread)
    assert "Note from agent:triage to ann, 2 versions." in shown
    assert "the chain holds" in shown
    assert shown.count(">verified<") == 4
    assert f"{GONE}mail-eu?&quot;" in shown
    assert f"{NEW}mail-us?&quot;" in shown
    assert shown.count(">ben<") == 2
    assert "Do not rely on this" not in shown


def test_any_two_versions_are_compared(rita: Client) -> None:
    thread = handed("one", "two", "three", "four").thread
    shown = page(rita, thread)
    assert (f"{GONE}three" in shown, f"{NEW}four" in shown) == (True, True)
    shown = page(rita, thread, "?version=2")
    assert (f"{GONE}one" in shown, f"{NEW}two" in shown) == (True, True)
    shown = page(rita, thread, "?beside=1&version=4")
    assert (f"{GONE}one" in shown, f"{NEW}four" in shown) == (True, True)
    assert '<option value="1" selected' in shown
    assert "Version 1</h2>" in page(rita, thread, "?version=1")
    for odd in ("?version=9", "?version=x&beside=-1", f"?version={'9' * 30}"):
        assert f"{NEW}four" in page(rita, thread, odd)
    assert "<ins" not in page(rita, thread, "?beside=2&version=2")


def test_who_handed_over_to_whom_is_compared_too(rita: Client) -> None:
    thread = handed("one").thread
    revise(thread=thread, expected_version=1, body="one", recipient="ben", actor="olga")
    shown = page(rita, thread)
    assert f"<dt>To</dt><dd>{GONE}ann</del>" in shown
    assert f"<dt>To</dt><dd>{NEW}ben</ins>" in shown
    assert "<dt>From</dt><dd>agent:triage</dd>" in shown


def test_what_came_back_is_shown_beside_the_task_as_no_change_of_it(rita: Client) -> None:
    thread, run = uuid4(), uuid4()
    delegated(thread, run, {"task": "look"}, {"status": "answered", "answer": "full"})
    shown = page(rita, thread)
    assert "What was asked, and what came back" in shown
    assert (GONE in shown, NEW in shown) == (False, False)
    assert shown.count(f'href="/admin/runs/run/{run}/change/"') == 3
    assert "Delegation from agent:a to agent:b, 2 versions." in shown


@pytest.mark.promise("HO-01")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_row_is_shown_as_not_verified(rita: Client, change: str) -> None:
    handed("elsewhere")
    thread = handed("one", "two", "three").thread
    assert changed_by_hand(change, thread) == 1
    shown = page(rita, thread)
    assert "does not hold" in shown
    assert "Do not rely on this" in shown
    assert "the chain holds" not in shown


@pytest.mark.promise("HO-01")
def test_a_version_that_was_taken_away_is_told(rita: Client) -> None:
    thread = handed("one", "two", "three").thread
    changed_by_hand("DELETE FROM handoffs_version WHERE thread = %s AND number = 3", thread)
    assert "version 3 was audited, and is gone" in page(rita, thread)
    changed_by_hand("DELETE FROM handoffs_version WHERE thread = %s", thread)
    shown = page(rita, thread)
    assert "Nothing is left of this hand-off." in shown
    assert "version 1 was audited, and is gone" in shown


def test_a_missing_key_is_no_change(rita: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = handed("one", "two").thread
    monkeypatch.setattr("handoffs.read_thread.checking_keys", list)
    shown = page(rita, thread)
    assert "It cannot be verified here: a key is missing" in shown
    assert "Do not rely on this" not in shown
    assert "not verified" in shown


def test_nothing_that_was_handed_over_is_obeyed_or_hidden(rita: Client) -> None:
    newest = handed({HOSTILE: HOSTILE}, HOSTILE, sender="<b>x</b>", recipient="<i>")
    for shown in (page(rita, newest.thread), text(rita)):
        assert "<script>alert" not in shown
        assert "<b>x</b>" not in shown
        assert "\u202e" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202eevil" in page(rita, newest.thread)


def test_long_bodies_are_cut_and_say_so(rita: Client) -> None:
    newest = handed("a " * 30_000, "b " * 200_000)
    shown = page(rita, newest.thread)
    assert "40000 more characters" in shown
    assert "380000 more characters" in shown
    assert f"GET /api/handoff-snapshots/{newest.snapshot_id}" in shown


def test_who_may_not_read_words_sees_the_rest(rita: Client) -> None:
    thread = handed("a secret", "another secret").thread
    vera = client_of("vera", "runs.view_run")
    shown = page(vera, thread)
    assert "secret" not in shown
    assert "transcripts.content.read" in shown
    assert "the chain holds" in shown
    nobody = client_of("nobody", "agents.view_agent")
    assert nobody.get(f"{LIST}{thread}/change/").status_code == 403
    assert nobody.get(LIST).status_code == 403


def test_threads_are_listed_and_found_by_what_an_index_leads_to(
    rita: Client, in_mission: None
) -> None:
    first, second = handed("one", "two"), handed("x", kind="question")
    shown = text(rita)
    assert shown.index(str(second.thread)) < shown.index(str(first.thread))
    assert "question from agent:triage to ann" in shown
    for term in (first.thread, first.snapshot_id):
        found = text(rita, f"{LIST}?q={term}")
        assert str(first.thread) in found
        assert str(second.thread) not in found
    found = text(rita, f"{LIST}?q=INC-7")
    assert str(first.thread) in found
    assert str(second.thread) in found
    assert str(first.thread) not in text(rita, f"{LIST}?q=INC-8")
    assert reverse("console-mission", args=["INC-7"]) in page(rita, first.thread)


def test_a_missions_page_leads_to_what_was_handed_over_in_it(
    rita: Client, in_mission: None
) -> None:
    thread = handed("one", "two").thread
    shown = text(rita, reverse("console-mission", args=["INC-7"]) + "?source=handoffs")
    assert shown.count(f'href="{LIST}{thread}/change/"') == 2
    assert "note from agent:triage to ann: version 1 was handed over" in shown


def test_what_is_not_there_leads_to_the_list(rita: Client) -> None:
    handed("one")
    for odd in (uuid4(), "x", "1", "_00"):
        answer = rita.get(f"{LIST}{odd}/change/", follow=True)
        assert answer.redirect_chain[0][0] == LIST
        assert "There is no" in answer.content.decode()
    assert rita.post(f"{LIST}{handed('x').thread}/change/").status_code == 403
    assert rita.get(f"{LIST}add/").status_code == 403


def test_a_page_asks_no_more_of_many_threads_and_versions_than_of_few(rita: Client) -> None:
    def asked(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert rita.get(path).status_code == 200
        # The clock is asked now and then, for ages.
        return len([it for it in queries if "handoffs_" in it["sql"] or "audit_" in it["sql"]])

    few = handed("a", "b")
    handed("c")
    asked(LIST)
    list_of_few, page_of_few = asked(LIST), asked(f"{LIST}{few.thread}/change/")
    many = handed(*range(8))
    for number in range(30):
        handed(number, -1 - number)
    assert asked(LIST) == list_of_few
    assert asked(f"{LIST}{many.thread}/change/") == page_of_few
