"""A ticket's page in a browser, as whoever works on it uses it: `make test-browser`. Pictures are kept where SHOTS is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser  # type: ignore[import-not-found,unused-ignore]

from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.find import find_ticket
from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.scene import HOSTILE, Scene
from tests.databases import FreshDatabase
from tests.flows.serving import serving
from tests.unit.tickets.conftest import filed

pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(120)
DARK = "document.documentElement.classList.toggle('dark', {on})"
WHOLE: dict[str, Any] = {
    "What failed": "Step `page_oncall` of workflow disk-cleanup failed on its third attempt: the pager answered 502.",
    "Undone, newest first": [
        "jira/transition_issue OPS-17: done",
        "servicenow/close_change CHG0031: done",
        "servicenow/detach_disk: failed, the disk is mounted on db-prod-1",
    ],
    "Of unknown outcome": ["pager/trigger: sent at 02:14:07Z, and nobody knows whether it took effect"],
    "Attempts": [{"attempt": it, "at": f"02:1{it}Z", "error": "502 Bad Gateway"} for it in (1, 2, 3)],
    "Input": {"host": "db-prod-1", "disks": ["sda", "sdb"], "change": {"id": "CHG0031", "window": "02:00-04:00"}},
    "Odd words": f"{HOSTILE} {'x' * 400}\nand a second line",
    "Log": "\n".join(f"line {it}: {'the disk of db-1 is full; ' * 6}" for it in range(900)),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where the console is, and who logs in."""

    url: str
    name: str
    password: str


@pytest.fixture(autouse=True)
def beside_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser's own loop runs in this thread, which asks the database too."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def tickets(fresh_db: FreshDatabase, browser: Browser) -> Iterator[Console]:
    """The console, with tickets of every kind."""
    User.objects.create_superuser("admin", password="a long word of admin")
    for number in range(4):
        filed(priority=f"P{number + 1}", queue="Network" if number else "Service Desk L1", mission=f"INC-{number}")  # fmt: skip
    filed(subject=f"Run of disk-cleanup failed at page_oncall {HOSTILE} " + "y" * 120, body=WHOLE)
    for number in range(52):
        comment_ticket(number="T-000001", text=f"Comment no {number}", actor="ann")
    comment_ticket(number="T-000005", text=f"On it {HOSTILE}\n\nThe pager is back.", actor="ann")
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    with serving() as port:
        served = Served(url=f"http://127.0.0.1:{port}", name="admin", password="a long word of admin")  # fmt: skip
        console = Console(page=context.new_page(), scene=cast("Scene", served))
        console.watch()
        yield console
        context.close()


def test_a_ticket_is_read_commented_on_taken_on_and_closed(tickets: Console) -> None:
    console, page = tickets, tickets.page
    console.log_in()
    console.open("/admin/tickets/ticket/", "tickets")
    assert page.locator("#result_list tbody tr").count() == 5
    page.get_by_text("T-000005", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("a ticket from the list")
    console.picture("ticket")
    shown = page.inner_text("#content")
    assert "the disk is mounted on db-prod-1" in shown
    assert "\\u202eevil\\u200b\\x07" in shown
    page.fill("#comments textarea", "I close the incident by hand.")
    page.locator("#comments button").click()
    page.wait_for_load_state("networkidle")
    assert "I close the incident by hand." in page.inner_text("#comments")
    page.get_by_text("Take it on", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("the form of a change")
    console.picture("ticket-change")
    page.get_by_text("Change it", exact=True).click()
    page.wait_for_load_state("networkidle")
    assert "in progress" in page.inner_text("#stands")
    page.get_by_text("Close", exact=True).click()
    page.wait_for_load_state("networkidle")
    page.get_by_text("Change it", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("a closed ticket")
    console.picture("ticket-closed")
    assert page.locator("#ways .liy-button").count() == page.locator("#comments textarea").count() == 0  # fmt: skip
    assert find_ticket("T-000005").state == "closed"


def test_a_ticket_can_be_read_in_the_dark_on_a_phone_and_with_many_comments(
    tickets: Console,
) -> None:
    console, page = tickets, tickets.page
    console.log_in()
    console.open("/admin/tickets/ticket/T-000001/change/", "ticket-many-comments")
    assert page.locator("#comments .liy-words").count() == 50
    page.get_by_text("Earlier comments", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("earlier comments")
    assert page.locator("#comments .liy-words").count() == 2
    console.open("/admin/tickets/ticket/T-000005/change/")
    page.evaluate(DARK.format(on="true"))
    console.picture("ticket-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    console.open("/admin/tickets/ticket/T-000005/change/", "ticket-phone")
    console.open("/admin/tickets/ticket/", "tickets-phone")
