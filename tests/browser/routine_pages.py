"""Pages of routines in a browser: suggestions, one of each state, and the request of an adoption. Pictures are kept where SHOTS is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser  # type: ignore[import-not-found,unused-ignore]

from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide
from liyagent.approvals.models import ApprovalStatus
from liyagent.core.ids import new_id
from liyagent.gateway.models import Tool, ToolServer
from routines.adopt import adopt_routine
from routines.models import Routine
from runs.models import Run
from tests.browser.browsing import HEIGHT, WIDTH, Console
from tests.browser.scene import Scene
from tests.browser.tickets_page import Served, beside_the_browser
from tests.databases import FreshDatabase
from tests.flows.serving import serving
from tests.recorded_runs import AGENT, Made, Past, write_past
from tests.unit.routines.conftest import Mine, mining_at

__all__ = ["beside_the_browser"]
pytest_plugins = ("tests.browser.browsing",)
pytestmark = pytest.mark.timeout(180)
LIST = "/admin/routines/routine/"
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
WORD = "a long word of admin"


def restarted(number: int, *, calls: int = 3) -> Past:
    """A run that looked a host up, restarted it, and told so; with more calls many more looks."""
    host, ticket = f"web-{number}.example.net", f"CHG-{4_700 + number}"
    made = [
        Made(tool="crm/find", args={"host": host, "fields": ["owner", "zone"]}, result={"host": {"id": f"ci-{9_000 + number}", "zone": f"eu-{number}"}}),
        Made(tool="crm/close", args={"ci": f"ci-{9_000 + number}", "why": f"hangs {HOSTILE}", "urgent": True}, result={"change": ticket}, effect="write"),
        Made(tool="crm/note", args={"change": ticket, "mail": f"ops{number}@example.net", "text": {"en": "Restarted.", "zone": f"eu-{number}"}}, effect="write"),
    ]  # fmt: skip
    more = [Made(tool="crm/find", args={"host": f"{host}/{it}"}) for it in range(calls - 3)]
    return Past(task=f"restart {host}", calls=(*made, *more))


def a_fallen_run(routine: Routine, *, asked: bool, status: str = "answered") -> None:
    """A run of an adopted routine that has ended, with or without the agent."""
    known: dict[str, Any] = {
        "agent_key": AGENT, "agent_version": 1, "entry": "api", "mission": "m", "recording": "full", "key_id": "k", "seal": b"",
        "status": status, "created_at": "2030-01-01T00:00:00Z", "taken_at": "2030-01-01T00:00:00Z", "ended_at": "2030-01-01T00:00:04Z",
    }  # fmt: skip
    run_id = new_id()
    Run.objects.create(id=run_id, correlation_id=run_id, workflow=routine.workflow_key, **known)
    if asked:
        child = new_id()
        Run.objects.create(id=child, correlation_id=run_id, parent_id=run_id, loop=str(child), input_tokens=40, **known)  # fmt: skip


def adopt(routine: Routine) -> Routine:
    asked = adopt_routine(routine_id=routine.id, actor="anna").approval
    decide(approval_id=asked.id, status=ApprovalStatus.APPROVED, actor="ben", reason="as we do it", digest=asked.digest)  # fmt: skip
    return Routine.objects.get(id=routine.id)


@pytest.fixture
def mine(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    with mining_at(fresh_db.url, monkeypatch) as it:
        yield it


@pytest.fixture
def console(mine: Mine, browser: Browser) -> Iterator[Console]:
    """The console, with a short routine and a long one."""
    User.objects.create_superuser("admin", password=WORD)
    write_past(mine.url, (restarted(it) for it in range(1, 9)))
    write_past(mine.url, (restarted(it, calls=14) for it in range(1, 5)))
    mine.mine()
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    with serving() as port:
        served = Served(url=f"http://127.0.0.1:{port}", name="admin", password=WORD)
        console = Console(page=context.new_page(), scene=cast("Scene", served))
        console.watch()
        console.log_in()
        yield console
        context.close()


def short() -> Routine:
    return next(it for it in Routine.objects.all() if len(it.tools) == 3)


def address(routine: Routine) -> str:
    return f"{LIST}{routine.pk}/change/"


def on_a_phone(console: Console, path: str, name: str) -> None:
    console.page.set_viewport_size({"width": 390, "height": 844})
    console.open(path, f"{name}-phone")
    console.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def test_a_suggestion_is_read_changed_asked_for_and_adopted(console: Console) -> None:
    page, routine = console.page, short()
    console.open(LIST, "routines")
    assert "8 runs, 8 different tasks" in page.inner_text("#result_list")
    on_a_phone(console, LIST, "routines")
    console.open(address(routine), "routine")
    assert page.locator(".liy-flow-step").count() == 4
    on_a_phone(console, address(routine), "routine")
    page.get_by_role("link", name="Make it a parameter").first.click()
    page.wait_for_load_state("networkidle")
    console.check("make a parameter")
    console.picture("routine-parameter")
    page.get_by_role("button", name="Make it a parameter").click()
    page.wait_for_load_state("networkidle")
    console.check("made a parameter")
    assert Routine.objects.get(id=routine.id).digest != routine.digest
    page.get_by_text("Ask for its adoption").click()
    page.wait_for_load_state("networkidle")
    console.picture("routine-adopt")
    page.get_by_role("button", name="Ask for its adoption").click()
    page.wait_for_load_state("networkidle")
    console.check("asked for")
    page.get_by_text("To its request").click()
    page.wait_for_load_state("networkidle")
    console.check("the request")
    console.picture("routine-request")
    assert Routine.objects.get(id=routine.id).digest in page.inner_text("#saved")
    assert "You asked for it" in page.inner_text("#approve")
    on_a_phone(console, page.url.removeprefix(console.scene.url), "routine-request")
    console.open("/admin/approvals/approval/", "routine-inbox")
    assert "adopt routine-triage-" in page.inner_text("#result_list")


def test_one_that_moved_is_stale_adopted_switched_off_or_dismissed_says_so(console: Console) -> None:  # fmt: skip
    page, routine = console.page, short()
    asked = adopt_routine(routine_id=routine.id, actor="anna").approval
    Routine.objects.filter(id=routine.id).update(digest="0" * 64, definition={**routine.definition, "max_steps": 7})  # fmt: skip
    request = f"/admin/approvals/approval/{asked.id}/change/"
    console.open(request, "routine-request-moved")
    assert "$.max_steps" in page.inner_text("#moved")
    on_a_phone(console, request, "routine-request-moved")
    console.open(address(routine), "routine-moved")
    decide(approval_id=asked.id, status=ApprovalStatus.REJECTED, actor="ben", reason="no", digest=asked.digest)  # fmt: skip
    Routine.objects.filter(id=routine.id).update(digest=routine.digest, definition=routine.definition)  # fmt: skip
    adopted = adopt(routine)
    for number in range(12):
        a_fallen_run(adopted, asked=number < 3, status="failed" if number == 11 else "answered")
    console.open(address(routine), "routine-adopted")
    assert "in 3 of 12 that ended (25%)" in page.inner_text("#standing")
    on_a_phone(console, address(routine), "routine-adopted")
    Routine.objects.filter(id=routine.id).update(state="suspended", reason="the agent was asked in 8 of 12 runs since it was adopted")  # fmt: skip
    console.open(address(routine), "routine-suspended")
    Tool.objects.filter(name="close").update(description="closes all of it")
    console.open(address(routine), "routine-stale")
    assert "crm/close" in page.inner_text("#stale")
    assert page.get_by_text("Ask for its adoption").count() == 0
    console.open(f"{LIST}{routine.pk}/dismiss/", "routine-dismiss")
    page.get_by_role("button", name="Dismiss it for good").click()
    page.wait_for_load_state("networkidle")
    console.check("dismissed")
    console.picture("routine-dismissed")
    console.open(f"{LIST}?q={AGENT}", "routines-of-agent")
    console.open(f"{LIST}mine/{AGENT}/", "routine-mine")
    agent = Agent.objects.get(key=AGENT)
    console.open(f"/admin/agents/agent/{agent.pk}/change/", "routine-agent")
    assert ToolServer.objects.exists()


def test_a_long_one_can_be_read_too(console: Console) -> None:
    routine = next(it for it in Routine.objects.all() if len(it.tools) > 3)
    console.open(address(routine), "routine-long")
    on_a_phone(console, address(routine), "routine-long")
    console.page.evaluate("document.documentElement.classList.add('dark')")
    console.picture("routine-long-dark")
