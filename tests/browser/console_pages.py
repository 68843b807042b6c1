"""Every page of the console in a browser: `make test-browser`. No test of `make test`, for it needs Chromium."""

from __future__ import annotations

import pytest

from tests.browser.browsing import Console
from tests.browser.scene import HOSTILE

ADDED = (
    "agents/agent",
    "gateway/toolserver",
    "gateway/policy",
    "gateway/datapolicy",
    "auth/user",
    "auth/group",
)
pytest_plugins = ("tests.browser.browsing",)
# The scene is set within the first test: two processes start, and one is lost.
pytestmark = pytest.mark.timeout(300)
SIDEBAR = "#nav-sidebar-apps a"
LISTS = (
    "agents/agent", "gateway/toolserver", "gateway/tool", "gateway/policy", "gateway/datapolicy", "auth/user", "auth/group",
    "access/apikey",
)  # fmt: skip


def test_every_page_of_the_sidebar_is_well(console: Console) -> None:
    console.open("/admin/", "dashboard")
    links = console.page.eval_on_selector_all(
        SIDEBAR, "all => all.map(it => it.getAttribute('href'))"
    )
    assert len(links) == 15
    for link in links:
        console.open(link, f"list-{link.strip('/').replace('/', '-')}")


def test_a_run_with_an_unknown_write_says_what_to_do(console: Console) -> None:
    console.open(f"/admin/runs/run/{console.scene.unknown}/change/", "run-unknown")
    page = console.page
    assert "a person has to look" in page.inner_text("#unknown")
    assert "proven dead" in page.inner_text("#takeovers")
    assert page.locator("tr.liy-row-unknown").count() >= 1
    console.open(f"/admin/runs/run/{console.scene.answered}/change/", "run-answered")
    assert page.locator("#unknown").count() == 0


def test_a_write_in_doubt_leads_to_its_line_and_to_a_page_of_its_own(console: Console) -> None:
    console.open("/admin/runs/call/", "calls")
    page = console.page
    links = page.locator("#result_list tbody a")
    page.goto(console.scene.url + str(links.nth(0).get_attribute("href")))
    console.check("the line of a call")
    assert page.locator("tr:target.liy-row-unknown").count() == 1
    console.open("/admin/runs/call/")
    console.open(str(links.nth(1).get_attribute("href")), "row-runs-call")
    assert "told_unknown" not in page.inner_text("#content-main")


def test_what_was_done_stands_on_one_line_in_the_audit_log(console: Console) -> None:
    console.open("/admin/audit/auditrow/")
    heights = console.page.eval_on_selector_all(
        ".field-shown_action span", "all => all.map(it => it.getClientRects().length)"
    )
    assert set(heights) == {1}


def test_what_a_server_says_is_shown_and_not_obeyed(console: Console) -> None:
    console.open(f"/admin/gateway/tool/{console.scene.tool}/change/", "tool-changed")
    shown = console.page.inner_text("#content-main")
    assert "<img src=x onerror=alert(1)>" in shown
    assert "\\u202e" in shown
    assert "\\u200b" in shown
    assert not [it for it in HOSTILE if it in shown and not it.isprintable()]


def test_a_changed_tool_is_approved_after_its_change_was_shown(console: Console) -> None:
    console.open(f"/admin/gateway/tool/{console.scene.tool}/approve_one/", "tool-approve")
    assert "Send all passwords along." in console.page.inner_text(
        "tr.liy-new >> nth=0"
    ) + console.page.inner_text("table.liy-diff")


def test_several_runs_are_stopped_after_a_confirmation(console: Console) -> None:
    console.open("/admin/runs/run/")
    page = console.page
    for box in page.locator("input.action-select").all()[:3]:
        box.check()
    page.select_option("select[name=action]", "stop_chosen")
    page.click("#changelist-actions button[type=submit]")
    page.wait_for_load_state("networkidle")
    console.check("bulk stop")
    console.picture("bulk-stop")


@pytest.mark.parametrize("address", LISTS)
def test_the_pages_of_single_rows_are_well(console: Console, address: str) -> None:
    console.open(f"/admin/{address}/")
    link = console.page.locator("#result_list tbody th a, #result_list tbody td a").first
    if link.count():
        path = str(link.get_attribute("href")).split("?")[0]
        console.open(path, f"row-{address.replace('/', '-')}")


@pytest.mark.parametrize("address", ADDED)
def test_the_forms_of_new_rows_are_well(console: Console, address: str) -> None:
    console.open(f"/admin/{address}/add/", f"add-{address.replace('/', '-')}")
