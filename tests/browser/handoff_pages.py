"""Hand-offs in a browser, as whoever asks what was handed over uses them: `make test-browser`. Pictures are kept where SHOTS is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser  # type: ignore[import-not-found,unused-ignore]

from handoffs.note_reading import note_reading
from missions.context import Stamp, stamped
from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.scene import HOSTILE, Scene
from tests.browser.tickets_page import DARK, Served
from tests.databases import FreshDatabase
from tests.flows.serving import serving
from tests.flows.test_handoffs_tampered import changed_by_hand
from tests.unit.handoffs.conftest import delegated, handed

pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(120)
LIST = "/admin/handoffs/version/"
DELEGATION = uuid4()
PLAN: dict[str, Any] = {
    "summary": "The mail queue of mail-eu stands since 02:10Z; 1,204 messages wait, none is lost.",
    "done": ["jira/create_issue OPS-17", "pager/acknowledge P-88"],
    "next": {"who": "network", "what": "Restart postfix on mail-eu after the backup that runs until 03:00Z", "risk": "low"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def beside_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser's own loop runs in this thread, which asks the database too."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def threads(fresh_db: FreshDatabase) -> dict[str, UUID]:
    """Threads of every kind, by what they are."""
    with stamped(Stamp(request_id="req-1", mission="INC-2041")):
        changed = {**PLAN, "next": {**PLAN["next"], "what": "Restart postfix on mail-eu at once: the backup is cancelled", "risk": "medium"}}  # fmt: skip
        question = handed(PLAN, {**PLAN, "done": [*PLAN["done"], "servicenow/create_change CHG0031"]}, changed, kind="shift-change")  # fmt: skip
        note_reading(thread=question.thread, number=3, digest=question.snapshot_id, reader="ben")
        odd = handed({HOSTILE: "x" * 400}, f"{HOSTILE}\n{'a long line ' * 200}", sender="agent:" + "y" * 150)  # fmt: skip
        broken = handed(PLAN, changed)
    delegated(DELEGATION, uuid4(), {"task": "Why does mail-eu not answer?"}, {"status": "answered", "answer": "Its disk is full."}, mission="INC-2041")  # fmt: skip
    body = "UPDATE handoffs_snapshot SET body = replace(body, 'at once', 'never') WHERE digest = %s"
    changed_by_hand(body, broken.snapshot_id)
    note_reading(thread=broken.thread, number=2, digest=broken.snapshot_id, reader="ben")
    for number in range(30):
        handed(f"Note no {number}", kind="note")
    return {"question": question.thread, "odd": odd.thread, "broken": broken.thread, "delegation": DELEGATION}  # fmt: skip


@pytest.fixture
def console(threads: dict[str, UUID], browser: Browser) -> Iterator[Console]:
    """The console, logged in."""
    User.objects.create_superuser("admin", password="a long word of admin")
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    with serving() as port:
        served = Served(url=f"http://127.0.0.1:{port}", name="admin", password="a long word of admin")  # fmt: skip
        console = Console(page=context.new_page(), scene=cast("Scene", served))
        console.watch()
        console.log_in()
        yield console
        context.close()


def test_a_thread_is_found_compared_and_verified(
    console: Console, threads: dict[str, UUID]
) -> None:
    page = console.page
    console.open(LIST, "handoffs")
    console.open(f"{LIST}?q=INC-2041", "handoffs-of-mission")
    page.get_by_text(str(threads["question"]), exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("a thread from the list")
    console.picture("handoff")
    assert "the chain holds" in page.inner_text("#sentence")
    assert "cancelled" in " ".join(page.locator("#side-2 ins.liy-new").all_inner_texts())
    page.select_option("select[name=beside]", "1")
    page.get_by_text("Compare", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("two versions compared")
    console.picture("handoff-compared")
    assert "Version 1 beside version 3" in page.inner_text("#sides-title")
    assert page.locator("#side-1 del.liy-gone").count() > 0
    assert "ben" in page.inner_text("#readings")


def test_a_changed_row_is_seen_at_once(console: Console, threads: dict[str, UUID]) -> None:
    console.open(f"{LIST}{threads['broken']}/change/", "handoff-broken")
    assert "does not hold" in console.page.inner_text("#sentence")
    assert "does not hash to its digest" in console.page.inner_text("#problems")


def test_all_of_them_can_be_read_in_the_dark_and_on_a_phone(
    console: Console, threads: dict[str, UUID]
) -> None:
    page = console.page
    for name, thread in threads.items():
        console.open(f"{LIST}{thread}/change/", f"handoff-{name}")
    page.evaluate(DARK.format(on="true"))
    console.picture("handoff-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    for name, thread in threads.items():
        console.open(f"{LIST}{thread}/change/", f"handoff-{name}-phone")
    console.open(LIST, "handoffs-phone")
