"""Every page of the console in a browser: `make test-browser`. No test of `make test`, for it needs Chromium."""

from __future__ import annotations

import pytest

from liyagent.console import sidebar
from tests.browser.browsing import HEIGHT, WIDTH, Console
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
WAYS = (
    "cron/crontrigger/", "cron/cronfire/", "webhooks/trigger/", "webhooks/triggerarrival/", "teams/teamsbot/", "teams/teamsperson/",
    "teams/teamsturn/", "copilot/conversation/", "copilot/turn/", "jobs/job/", "sources/source/",
)  # fmt: skip
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
    assert len(links) == len({*links}) == sum(len(items) for _, items in sidebar.SIDEBAR)
    for link in links:
        console.open(link, f"list-{link.strip('/').replace('/', '-')}")


def test_a_run_with_an_unknown_write_says_what_to_do(console: Console) -> None:
    console.open(f"/admin/runs/run/{console.scene.unknown}/change/", "run-unknown")
    page = console.page
    assert "a person has to look" in page.inner_text("#unknown")
    assert "proven dead" in page.inner_text("#takeovers")
    assert page.locator(".liy-row-unknown").count() >= 1
    console.open(f"/admin/runs/run/{console.scene.answered}/change/", "run-answered")
    assert page.locator("#unknown").count() == 0


def test_a_dead_letter_says_what_to_do_and_is_sent_again_by_a_person(console: Console) -> None:
    page, filed = console.page, console.scene.ways
    console.open("/admin/")
    assert "Dead letters: 2" in page.inner_text("#letters")
    console.open("/admin/entry/delivery/?state=given_up", "deliveries-given-up")
    assert page.locator("#result_list tbody tr").count() == 2
    console.open(f"/admin/entry/delivery/{filed.unconfirmed}/send-again/", "delivery-send-again")
    assert "may appear twice" in page.inner_text("#content")
    console.open(f"/admin/entry/delivery/{filed.unconfirmed}/change/", "delivery-unconfirmed")
    console.open(f"/admin/entry/delivery/{filed.dead}/close/", "delivery-close")
    console.open(f"/admin/entry/delivery/{filed.dead}/change/", "delivery-dead")
    shown = page.inner_text("#stands")
    assert "It was given up" in shown
    assert "BotNotInConversationRoster" in shown
    page.get_by_text("Send it again", exact=True).click()
    page.wait_for_load_state("networkidle")
    console.check("send again")
    console.picture("delivery-send-again-dead")
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        console.open(f"/admin/entry/delivery/{filed.dead}/change/", "delivery-dead-phone")
    finally:
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def test_what_came_in_leads_to_what_is_owed_for_it(console: Console) -> None:
    page = console.page
    console.open(f"/admin/entry/arrival/{console.scene.answered}/change/", "arrival")
    assert page.locator("#owed tbody tr, #owed table tr").count() >= 3
    page.locator("#owed a").nth(1).click()
    page.wait_for_load_state("networkidle")
    console.check("a delivery of an arrival")


@pytest.mark.parametrize("address", WAYS)
def test_each_page_of_the_ways_in_is_well(console: Console, address: str) -> None:
    console.open(f"/admin/{address}", f"way-{address.strip('/').replace('/', '-')}")
    links = console.page.locator("#result_list tbody th a")
    if links.count():
        console.open(
            str(links.first.get_attribute("href")), f"row-{address.strip('/').replace('/', '-')}"
        )


def test_a_write_in_doubt_leads_to_its_line_and_to_a_page_of_its_own(console: Console) -> None:
    console.open("/admin/runs/call/", "calls")
    page = console.page
    links = page.locator("#result_list tbody a")
    page.goto(console.scene.url + str(links.nth(0).get_attribute("href")))
    console.check("the line of a call")
    assert page.locator(".liy-row-unknown:target").count() == 1
    console.open("/admin/runs/call/")
    console.open(str(links.nth(1).get_attribute("href")), "row-runs-call")
    assert "told_unknown" not in page.inner_text("#content-main")


def test_what_happened_to_a_write_is_asked_for_beside_what_is_known(console: Console) -> None:
    console.open("/admin/runs/call/?doubt=unknown")
    page = console.page
    address = str(page.locator("#result_list tbody a").nth(1).get_attribute("href"))
    console.open(address, "call-in-doubt")
    assert "nobody knows whether it took effect" in page.inner_text("#known")
    assert page.inner_text("#to-do").startswith("Look at ")
    for name, picture in (("It happened", "call-happened"), ("It did not happen", "call-did-not")):
        page.locator("#doubt").get_by_text(name, exact=True).click()
        page.wait_for_load_state("networkidle")
        console.check(picture)
        console.picture(picture)
        assert "Look at the vendor first" in page.inner_text("#content")
        console.open(address)


def test_a_run_that_waits_leads_to_what_it_waits_for(console: Console) -> None:
    console.open("/admin/runs/run/?status=waiting", "runs-waiting")
    page = console.page
    request = f"/admin/approvals/approval/{console.scene.requests['plain']}/change/"
    assert page.locator(f'#result_list a[href="{request}"]').count() == 1
    console.open(
        str(page.locator("#result_list tbody th a").first.get_attribute("href")), "run-waiting"
    )
    assert "waits for a person to decide" in page.inner_text("#waits")
    assert page.locator(f'#waits a[href="{request}"]').count() == 1
    assert "waits for approval" in page.inner_text("#steps")
    console.open("/admin/runs/call/")
    assert "held" not in " ".join(page.locator("#result_list").all_inner_texts())


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


@pytest.mark.parametrize("name", ["plain", "hostile", "long"])
def test_a_request_is_shown_as_it_is(console: Console, name: str) -> None:
    address = f"/admin/approvals/approval/{console.scene.requests[name]}/change/"
    console.open(address, f"request-{name}")
    shown = console.page.inner_text("#content-main, #main, body")
    assert "wants to call" in shown
    assert not [it for it in "\u202e\u200b\u3164\x1b" if it in shown]
    console.page.set_viewport_size({"width": 390, "height": 844})
    try:
        console.open(address, f"request-{name}-phone")
    finally:
        console.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def test_hostile_arguments_look_like_what_they_are(console: Console) -> None:
    console.open(f"/admin/approvals/approval/{console.scene.requests['hostile']}/change/")
    page = console.page
    warnings = page.inner_text("#warnings")
    assert "RIGHT-TO-LEFT OVERRIDE" in warnings
    assert "look alike" in warnings
    arguments = page.inner_text("#arguments")
    assert "⟨900 spaces⟩" in arguments.replace("\u00a0", " ")
    assert "<script>alert(2)</script>" in arguments
    # A line end within a value begins no line of the table.
    assert page.locator("#arguments tbody tr").count() == 18
    assert page.locator("#unknown a").count() >= 1
    assert "1 other request" in page.inner_text("#same")


def test_the_inbox_and_a_long_value_fit_a_phone(console: Console) -> None:
    console.page.set_viewport_size({"width": 390, "height": 844})
    try:
        console.open("/admin/approvals/approval/", "inbox-phone")
        console.open("/admin/", "dashboard-phone")
        long = console.scene.requests["long"]
        console.open(f"/admin/approvals/approval/{long}/change/?show=1", "request-text-phone")
    finally:
        console.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def test_a_refused_form_says_why_where_it_is_seen_first(console: Console) -> None:
    twin = console.scene.requests["twin"]
    console.open(f"/admin/approvals/approval/{twin}/change/")
    page = console.page
    page.fill("#reject input[name=reason]", "wrong " * 100)
    page.click("#reject button")
    page.wait_for_load_state("networkidle")
    # The refusal itself is what the browser's console tells of.
    assert {it.partition(":")[0] for it in console.said} == {"error", "400"}
    console.said.clear()
    console.check("a refused form")
    console.picture("request-refused")
    box = page.locator("#refused").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < HEIGHT
    assert page.evaluate("window.scrollY") == 0
    assert page.input_value("#reject input[name=reason]") == "wrong " * 100
    page.click("#refused a")
    console.picture("request-refused-mended")


def test_a_change_of_policies_is_seen_before_the_decision(console: Console) -> None:
    console.open("/admin/approvals/approval/", "inbox")
    assert "policies changed: approved, it asks again" in console.page.inner_text("#result_list")
    console.open(f"/admin/approvals/approval/{console.scene.requests['long']}/change/")
    box = console.page.locator("#changed").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < HEIGHT
    for status in ("approved", "consumed", "rejected", "stale", "all"):
        console.open(f"/admin/approvals/approval/?status={status}", f"inbox-{status}")
    for name in ("stale", "approved"):
        address = f"/admin/approvals/approval/{console.scene.requests[name]}/change/"
        console.open(address, f"request-{name}")


def test_a_request_is_withdrawn(console: Console) -> None:
    long = console.scene.requests["long"]
    console.open(f"/admin/approvals/approval/{long}/change/")
    page = console.page
    page.click("#withdraw summary")
    console.picture("request-withdraw")
    page.fill("#withdraw input[name=reason]", "not needed any more")
    page.click("#withdraw button")
    page.wait_for_load_state("networkidle")
    console.check("a withdrawal")
    assert "Withdrawn jira/create_issue" in page.inner_text("body")
    console.open("/admin/approvals/approval/?status=withdrawn", "inbox-withdrawn")


def test_a_request_is_rejected_with_a_reason(console: Console) -> None:
    twin = console.scene.requests["twin"]
    console.open(f"/admin/approvals/approval/{twin}/change/")
    page = console.page
    page.fill("#reject input[name=reason]", "the host is not what it seems")
    page.click("#reject button")
    page.wait_for_load_state("networkidle")
    console.check("a rejection")
    console.picture("request-rejected")
    assert "Rejected jira/create_issue" in page.inner_text("body")
    console.open(f"/admin/approvals/approval/{twin}/change/", "request-decided")
    assert page.locator("#decide").count() == 0
    assert "the host is not what it seems" in page.inner_text("#history")


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
