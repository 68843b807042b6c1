"""The playground in a browser: asked, watched live, without a script, and on a phone: `make test-browser`."""

from __future__ import annotations

import pytest

from tests.browser.browsing import HEIGHT, WIDTH, Console

pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(300)


def started(console: Console) -> str:
    """Fill in the form and start; return the run's address."""
    console.open("/admin/playground/?agent=triage-keyed", "playground")
    page = console.page
    page.fill("#ask textarea", "File two things.")
    page.click("#ask button[type=submit]")
    page.wait_for_url("**/admin/playground/*-*/")
    return page.url.removeprefix(console.scene.url)


def test_a_run_is_watched_live_to_its_answer_and_is_the_same_after_a_refresh(
    console: Console,
) -> None:
    address = started(console)
    page = console.page
    page.wait_for_selector("#live:has-text('Live')", timeout=20_000)
    console.picture("playground-live")
    page.wait_for_selector("#said:has-text('It has answered')", timeout=60_000)
    assert page.inner_text("#live").strip() == ""
    assert page.locator(".liy-model").count() > 2
    assert page.inner_text("#answer .liy-block")
    console.check("the playground")
    console.picture("playground-ended")
    console.open(address)
    assert "It has answered" in page.inner_text("#said")
    page.set_viewport_size({"width": 390, "height": 844})
    console.open(address, "playground-phone")
    console.open("/admin/playground/", "playground-ask-phone")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def test_without_a_script_it_shows_how_things_stand_when_loaded(console: Console) -> None:
    address = started(console)
    assert console.page.context.browser is not None
    context = console.page.context.browser.new_context(
        java_script_enabled=False, storage_state=console.page.context.storage_state()
    )
    page = context.new_page()
    page.goto(f"{console.scene.url}{address}")
    assert page.inner_text("#said").strip()
    if "It has answered" not in page.inner_text("#said"):
        assert "Load it again" in page.inner_text("#live")
    console.page.wait_for_selector("#said:has-text('It has answered')", timeout=60_000)
    page.reload()
    assert "It has answered" in page.inner_text("#said")
    context.close()
    console.check("the playground")
