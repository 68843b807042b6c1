"""Pages of workflows in a browser, with 1, 20 and 200 steps: `make test-browser`. Pictures are kept where SHOTS is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser  # type: ignore[import-not-found,unused-ignore]

from liyagent.agents.definitions import save_agent
from liyagent.gateway.models import Tool, ToolServer
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import save_given
from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.scene import Scene
from tests.browser.tickets_page import Served, beside_the_browser
from tests.databases import FreshDatabase
from tests.flows.serving import serving

__all__ = ["beside_the_browser"]
pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(120)
LIST = "/admin/workflows/workflow/"
HOSTILE = "<img src=x onerror=alert(1)>"
TOO_WIDE = """
[...document.querySelectorAll('.liy-flow text')].filter(it => {
    const box = it.closest('.liy-flow-step, .liy-flow-sign')?.querySelector('rect');
    return box && it.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
}).map(it => it.textContent)
"""


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "tool", "server": "jira", "tool": "create_issue", **more}


ONE = [tool("issue", args={"summary": "{{ input.title }}"}, compensate={"tool": "add_comment"})]
TWENTY: list[dict[str, Any]] = [
    {"id": "sort", "type": "set", "values": {"tries": 0, "service": "checkout"}},
    tool("issue", retry={"times": 3}, timeout=20, compensate={"tool": "add_comment"}),
    {"id": "how_bad", "type": "branch", "else": "note", "cases": [
        {"when": "input.severity == `1`", "next": "both"},
        {"when": "input.severity == `2` && input.host != 'a-test-host-of-nobody'", "next": "change"},
        {"when": "input.severity == `9`", "next": "end"},
    ]},
    {"id": "both", "type": "parallel", "branches": {
        "people": [tool("page", on_error="call"), tool("call")],
        "machines": [tool("restart"), {"id": "rest", "type": "wait", "seconds": 60}, {"id": "again", "type": "branch", "cases": [{"when": "steps.rest.output", "next": "restart"}]}],
        "press": [{"id": "ask", "type": "approve", "question": f"Tell the press? {HOSTILE}"}],
        "log": [tool("log")],
    }},
    tool("change", on_error="clean_up", compensate={"tool": "add_comment"}),
    {"id": "approve", "type": "approve", "question": "Shall {{ input.host }} be restarted?"},
    {"id": "look", "type": "agent", "agent": "triage-keyed", "task": "Look whether it is well.", "on_error": "clean_up"},
    {"id": "well", "type": "branch", "else": "closed", "cases": [{"when": "steps.look.output == 'no'", "next": "change"}]},
    {"id": "closed", "type": "wait", "signal": "closed", "when": "input.wait"},
    tool("note", next="end"),
    tool("clean_up", fallback=None),
]  # fmt: skip
LONG = [*(tool(f"step_{n:03}", **({"on_error": "clean_up"} if n % 7 == 0 else {})) for n in range(199)), tool("clean_up")]  # fmt: skip


@pytest.fixture
def console(fresh_db: FreshDatabase, browser: Browser) -> Iterator[Console]:
    """The console, with workflows of 1, about 20 and 200 steps."""
    User.objects.create_superuser("admin", password="a long word of admin")
    server = ToolServer.objects.create(key="jira", transport="local")
    Tool.objects.bulk_create(Tool(server=server, name=it) for it in ("create_issue", "add_comment"))
    for key, patterns in (("desk", ["jira/*", "agents/triage-keyed"]), ("triage-keyed", [])):
        save_agent({"key": key, "name": key, "provider": "scripted", "model": "m", "tool_patterns": patterns}, actor="ann")  # fmt: skip
    for key, steps in (("one", ONE), ("twenty", TWENTY), ("long", LONG)):
        save_given({"key": key, "name": f"Of {key}", "agent": "desk", "definition": {"steps": steps}}, actor="ann")  # fmt: skip
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    with serving() as port:
        served = Served(url=f"http://127.0.0.1:{port}", name="admin", password="a long word of admin")  # fmt: skip
        console = Console(page=context.new_page(), scene=cast("Scene", served))
        console.watch()
        console.log_in()
        yield console
        context.close()


def address(key: str) -> str:
    return f"{LIST}{Workflow.objects.get(key=key).pk}/change/"


def test_workflows_of_any_length_are_seen_as_pictures(console: Console) -> None:
    page = console.page
    console.open(LIST, "workflows")
    for key, boxes in (("one", 1), ("twenty", 18), ("long", 200)):
        console.open(address(key), f"workflow-{key}")
        assert page.locator(".liy-flow-step").count() == boxes
        assert page.evaluate(TOO_WIDE) == []
        picture = page.locator(".liy-picture")
        assert picture.evaluate("it => it.scrollWidth - it.clientWidth") <= 0
        console.picture(f"workflow-{key}-top")


def test_a_box_leads_to_its_line_and_back_also_far_down(console: Console) -> None:
    page = console.page
    console.open(address("long"))
    page.locator("#step-step_143 a").click()
    box = page.locator("#box-step_143 .liy-flow-box").bounding_box()
    assert box is not None
    assert -5 <= box["y"] < HEIGHT
    console.picture("workflow-long-found")
    page.locator("#box-step_143 > a").click()
    assert page.locator("#step-step_143:target").count() == 1
    page.locator("#box-step_140 .liy-flow-lead").first.click()
    assert page.url.endswith("#box-clean_up")


def test_a_form_that_is_refused_shows_why_and_keeps_what_was_typed(console: Console) -> None:
    page = console.page
    console.open(f"{LIST}add/", "workflow-add")
    page.fill("#id_key", "mine")
    page.fill("#id_name", "Mine")
    page.fill("#id_agent", "desk")
    page.fill("#id_definition", "steps:\n  - {id: a, type: tool, server: jira, tool: crate_issue}\n# kept")  # fmt: skip
    page.get_by_text("Save", exact=True).last.click()
    page.wait_for_load_state("networkidle")
    console.check("a refused form")
    console.picture("workflow-refused")
    assert "$.steps[0].tool: is 'crate_issue'" in page.inner_text("#content")
    assert page.input_value("#id_definition").endswith("# kept")


def test_it_can_be_read_in_the_dark_and_on_a_phone(console: Console) -> None:
    page = console.page
    console.open(address("twenty"))
    page.evaluate("document.documentElement.classList.add('dark')")
    console.picture("workflow-twenty-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    for key in ("one", "twenty", "long"):
        console.open(address(key), f"workflow-{key}-phone")
