"""Cohort replays in a browser, as whoever tries a cheaper model sees them: `make test-browser`. Pictures are kept where SHOTS is set."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.db import connection
from playwright.sync_api import Browser  # type: ignore[import-not-found,unused-ignore]

from liyagent.agents.models import Agent
from liyagent.replays.models import CohortReplay, Replayed
from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.scene import Scene
from tests.browser.tickets_page import Served
from tests.databases import FreshDatabase
from tests.flows.replaying import AGENT, carry_jobs, desk_at_work, replayed
from tests.flows.serving import serving

pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(240)
LIST = "/admin/replays/cohortreplay/"
TRY = f"{LIST}try/?agent={AGENT}"


@pytest.fixture(autouse=True)
def beside_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser's own loop runs in this thread, which asks the database too."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def desk(
    fresh_db: FreshDatabase, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Console]:
    """The console, where the alert desk has a week of runs behind it."""
    with desk_at_work(tmp_path, monkeypatch), serving() as port:
        admin = User.objects.get(username="admin")
        admin.set_password("a long word of admin")
        admin.save()
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        served = Served(url=f"http://127.0.0.1:{port}", name="admin", password="a long word of admin")  # fmt: skip
        console = Console(page=context.new_page(), scene=cast("Scene", served))
        console.watch()
        console.log_in()
        yield console
        context.close()


def beside(work: Any) -> threading.Thread:
    """Work in a thread of its own, as another process does."""

    def worked() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=worked)
    thread.start()
    return thread


def test_a_cheaper_model_is_tried_watched_and_read(desk: Console) -> None:
    console, page = desk, desk.page
    agent = Agent.objects.get(key=AGENT)
    console.open(f"/admin/agents/agent/{agent.pk}/change/")
    page.get_by_text("Try another model on past runs").click()
    page.wait_for_load_state("networkidle")
    console.check("the form")
    console.picture("replay-try")
    page.fill("#id_model", "alert-desk-small")
    page.fill("#id_baseline", "1")
    page.get_by_text("Say what it would take", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("the estimate")
    console.picture("replay-estimate")
    assert "16 runs" in page.inner_text("#expected")
    page.get_by_text("Start it", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("one that waits")
    console.picture("replay-waits")
    assert "0 of 32 replays done" in page.inner_text("#progress")
    at_work = beside(carry_jobs)
    # Nobody loads the page again: it brings itself up to date.
    page.wait_for_selector("#runs", timeout=60_000)
    console.picture("replay-runs")
    page.wait_for_selector("#progress", state="detached", timeout=60_000)
    at_work.join()
    assert "1 of 16 runs answered before and does not any more" in page.inner_text("#sentence")
    assert page.inner_text("#live") == ""
    console.open(page.url.removeprefix(console.scene.url), "replay-done")
    assert page.locator("#runs tbody tr, #runs table tr").count() >= 16
    console.open(LIST, "replays")
    cohort = CohortReplay.objects.get()
    for name, result in results(cohort).items():
        console.open(f"{LIST}{cohort.id}/runs/{result.pk}/", f"replay-run-{name}")
    console.open(f"{LIST}try/", "replay-try-which")


def results(cohort: CohortReplay) -> dict[str, Replayed]:
    """A result of each kind, by what it shows."""
    rows = Replayed.objects.filter(cohort=cohort, lane=0)
    lightly = rows.filter(diff__drift=1).first()
    regressed = rows.filter(verdict="regressed").first()
    dropped = rows.filter(verdict="changed", diff__dropped__contains=["incident/page_on_call"]).first()  # fmt: skip
    same = rows.filter(verdict="same").first()
    found = {"drift": lightly, "regressed": regressed, "dropped": dropped, "same": same}
    assert all(found.values())
    return {name: it for name, it in found.items() if it is not None}


def test_it_can_be_read_in_the_dark_and_on_a_phone(desk: Console) -> None:
    console, page = desk, desk.page
    cohort = replayed("alert-desk-small", limit=12)
    address = f"{LIST}{cohort.id}/change/"
    run = f"{LIST}{cohort.id}/runs/{Replayed.objects.filter(cohort=cohort, diff__drift=1).get().pk}/"  # fmt: skip
    for name, path in (("replay", address), ("replay-run", run), ("replay-try", TRY), ("replays", LIST)):  # fmt: skip
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        console.open(path)
        page.evaluate("document.documentElement.classList.add('dark')")
        console.picture(f"{name}-dark")
        page.set_viewport_size({"width": 390, "height": 844})
        console.open(path, f"{name}-phone")
        page.evaluate("document.documentElement.classList.add('dark')")
        console.picture(f"{name}-phone-dark")
