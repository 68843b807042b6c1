"""Each vendor's manners, over real MCP HTTP against the real process."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from liyagent.demo.vendors.process import VendorProcess

META: Any = {"io.liyagent/mission": "mission-1", "io.liyagent/step-key": "step-1"}


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorProcess]:
    with VendorProcess(tmp_path_factory.mktemp("ledgers"), before_ms=1, after_ms=1) as running:
        yield running


@pytest.fixture
def slow_incident(vendors: VendorProcess) -> Iterator[None]:
    vendors.set_pace("incident", before_ms=150, after_ms=1)
    yield
    vendors.set_pace("incident", before_ms=1, after_ms=1)


def ask_together(
    vendors: VendorProcess, vendor: str, *calls: tuple[str, dict[str, Any]]
) -> list[Any]:
    """Make all calls at once in one session; each answer is its structured content, else its text."""

    async def ask_one(client: Client, tool: str, args: dict[str, Any]) -> Any:
        try:
            result = await client.call_tool(tool, args, meta=META)
        except MCPError as error:
            return f"protocol error: {error.message}"
        return result.content[0].text if result.is_error else result.structured_content  # type: ignore[union-attr]

    async def ask_all() -> list[Any]:
        async with Client(f"{vendors.url}/{vendor}/mcp") as client:
            return await asyncio.gather(*(ask_one(client, tool, args) for tool, args in calls))

    return asyncio.run(ask_all())


def ask(vendors: VendorProcess, vendor: str, tool: str, **args: Any) -> Any:
    return ask_together(vendors, vendor, (tool, args))[0]


def effects(vendors: VendorProcess, vendor: str, text: str) -> list[dict[str, Any]]:
    return [row for row in vendors.ledger(vendor)["effects"] if text in json.dumps(row["body"])]


def test_an_incident_opened_twice_with_one_key_is_one_incident(vendors: VendorProcess) -> None:
    wish = {"name": "disk [once]", "severity": "p2", "idempotency_key": "once"}

    first = ask(vendors, "incident", "create_incident", **wish)
    second = ask(vendors, "incident", "create_incident", **wish)

    assert first == second
    assert len(effects(vendors, "incident", "[once]")) == 1


def test_a_second_request_while_the_first_is_in_progress_is_a_conflict(
    vendors: VendorProcess, slow_incident: None
) -> None:
    wish = {"name": "disk [race]", "severity": "p2", "idempotency_key": "race"}

    answers = ask_together(
        vendors, "incident", ("create_incident", wish), ("create_incident", wish)
    )

    assert sorted(isinstance(answer, dict) for answer in answers) == [False, True]
    assert any("protocol error: 409" in answer for answer in answers if isinstance(answer, str))
    assert len(effects(vendors, "incident", "[race]")) == 1


def test_another_request_with_a_used_key_is_refused(vendors: VendorProcess) -> None:
    ask(vendors, "incident", "create_incident", name="a", severity="p2", idempotency_key="used")

    answer = ask(
        vendors, "incident", "create_incident", name="b", severity="p2", idempotency_key="used"
    )

    assert "422" in answer


def test_an_incident_shows_its_updates_and_its_last_status(vendors: VendorProcess) -> None:
    incident = ask(
        vendors, "incident", "create_incident", name="n", severity="p3", idempotency_key="show"
    )
    update = {"incident_id": incident["id"], "message": "done", "status": "closed"}
    for _ in range(2):
        ask(vendors, "incident", "update_incident", **update, idempotency_key="show-update")

    seen = ask(vendors, "incident", "get_incident", incident_id=incident["id"])

    assert seen["status"] == "closed"
    assert [row["message"] for row in seen["updates"]] == ["done"]


def test_an_issue_created_twice_with_one_key_is_two_issues_that_the_key_finds(
    vendors: VendorProcess,
) -> None:
    wish = {"project": "OPS", "summary": "disk", "client_key": "stored"}
    for _ in range(2):
        ask(vendors, "jira", "create_issue", **wish)

    found = ask(vendors, "jira", "search_issues", client_key="stored")["issues"]

    assert [issue["client_key"] for issue in found] == ["stored", "stored"]
    assert len({issue["id"] for issue in found}) == 2


def test_a_key_that_was_never_sent_finds_nothing(vendors: VendorProcess) -> None:
    ask(vendors, "jira", "create_issue", project="OPS", summary="x", client_key="sent")

    assert ask(vendors, "jira", "search_issues", client_key="never") == {"issues": []}


def test_without_a_client_key_the_key_that_goes_with_the_request_is_stored(
    vendors: VendorProcess,
) -> None:
    ask(vendors, "jira", "create_issue", project="OPS", summary="[meta]")

    found = ask(vendors, "jira", "search_issues", client_key=META["io.liyagent/step-key"])

    assert "[meta]" in {issue["summary"] for issue in found["issues"]}


def test_a_comment_is_found_by_its_key_and_stands_on_its_issue(vendors: VendorProcess) -> None:
    issue = ask(vendors, "jira", "create_issue", project="OPS", summary="x")
    ask(vendors, "jira", "add_comment", issue_key=issue["id"], body="hello", client_key="c-1")

    found = ask(vendors, "jira", "search_comments", client_key="c-1")["comments"]
    seen = ask(vendors, "jira", "get_issue", issue_key=issue["id"])

    assert [comment["body"] for comment in found] == ["hello"]
    assert seen["comments"] == found


def test_a_comment_on_no_issue_is_refused_and_leaves_no_effect(vendors: VendorProcess) -> None:
    assert "404" in ask(vendors, "jira", "add_comment", issue_key="OPS-999", body="[nowhere]")
    assert effects(vendors, "jira", "[nowhere]") == []


def test_what_undoes_is_kept_each_time_and_the_issue_shows_it(vendors: VendorProcess) -> None:
    issue = ask(vendors, "jira", "create_issue", project="OPS", summary="x")
    change = ask(vendors, "servicenow", "create_change", short_description="x")
    for _ in range(2):
        ask(vendors, "jira", "delete_issue", issue_key=issue["id"], reason="[undo]", client_key="u")
        ask(vendors, "servicenow", "cancel_change", change_id=change["id"], reason="[undo]")

    found = ask(vendors, "jira", "search_deletions", client_key="u")["deletions"]

    assert [row["issue_key"] for row in found] == [issue["id"]] * 2
    assert ask(vendors, "jira", "get_issue", issue_key=issue["id"])["is_deleted"]
    assert len(effects(vendors, "servicenow", "[undo]")) == 2
    assert "404" in ask(vendors, "servicenow", "cancel_change", change_id="CHG-9999", reason="x")


def test_a_page_reaches_who_is_on_call_once_and_nobody_else(vendors: VendorProcess) -> None:
    page = {"message": "[page]", "idempotency_key": "page"}
    reached = [ask(vendors, "incident", "page_on_call", team="database", **page) for _ in range(2)]

    assert reached[0] == reached[1]
    assert "404 nobody" in ask(
        vendors, "incident", "page_on_call", team="payments", message="[page]", idempotency_key="p2"
    )
    assert len(effects(vendors, "incident", "[page]")) == 1


def test_a_blind_vendor_files_every_request_and_lists_no_key(vendors: VendorProcess) -> None:
    for _ in range(2):
        ask(vendors, "servicenow", "create_change", short_description="swap [blind]")

    listed = ask(vendors, "servicenow", "list_changes")["changes"]
    mine = [change for change in listed if "[blind]" in change["short_description"]]

    assert len(mine) == 2
    assert {name for change in mine for name in change} == {"id", "short_description"}


def test_a_call_is_noted_with_its_arguments_mission_key_and_effect(vendors: VendorProcess) -> None:
    change = ask(vendors, "servicenow", "create_change", short_description="noted")

    row = vendors.ledger("servicenow")["requests"][-1]

    assert (row["tool"], row["args"]) == ("create_change", {"short_description": "noted"})
    assert (row["mission"], row["step_key"]) == ("mission-1", "step-1")
    assert row["received_at"] <= row["committed_at"]
    assert change["id"] == f"CHG-{row['effect']}"


def test_sixty_four_writes_at_once_all_take_effect_side_by_side(vendors: VendorProcess) -> None:
    wishes = [("create_change", {"short_description": f"[many/{n}]"}) for n in range(64)]

    vendors.set_pace("servicenow", before_ms=50, after_ms=1)
    began = time.monotonic()

    answers = ask_together(vendors, "servicenow", *wishes)
    seconds = time.monotonic() - began
    vendors.set_pace("servicenow", before_ms=1, after_ms=1)

    assert len({answer["id"] for answer in answers}) == 64
    assert seconds < 64 * 0.050


def test_a_write_takes_effect_though_its_client_is_gone(vendors: VendorProcess) -> None:
    vendors.set_pace("jira", before_ms=80, after_ms=1)
    body = {"project": "OPS", "summary": "[gone]"}
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "create_issue", "arguments": body},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{vendors.url}/jira/mcp", json=request, headers=headers, timeout=0.04)

    ask(vendors, "jira", "create_issue", project="OPS", summary="after it")
    vendors.set_pace("jira", before_ms=1, after_ms=1)

    assert len(effects(vendors, "jira", "[gone]")) == 1


@pytest.mark.parametrize(
    "wish",
    [
        {"vendor": "nobody"},
        {"vendor": "jira", "before_ms": -1},
        {"vendor": "jira", "after_ms": "1"},
        [],
    ],
)
def test_a_pace_that_cannot_be_is_refused_with_what_is_wanted(
    vendors: VendorProcess, wish: object
) -> None:
    answer = httpx2.post(f"{vendors.url}/control", json=wish)

    assert answer.status_code == 400
    assert "before_ms" in answer.json()["error"]


def test_a_page_of_another_site_reaches_nothing(vendors: VendorProcess) -> None:
    answer = httpx2.get(f"{vendors.url}/ledger/jira", headers={"Host": "evil.example"})

    assert answer.status_code == 400


def test_what_took_effect_survives_a_kill_and_is_still_deduped(tmp_path: Path) -> None:
    wish = {"name": "disk [kill]", "severity": "p1", "idempotency_key": "kill"}
    vendors = VendorProcess(tmp_path, before_ms=1, after_ms=1)
    vendors.start()
    first = ask(vendors, "incident", "create_incident", **wish)
    vendors.kill()

    vendors.start()
    second = ask(vendors, "incident", "create_incident", **wish)
    kept = effects(vendors, "incident", "[kill]")
    code = vendors.stop()

    assert first == second
    assert len(kept) == 1
    assert code == 0


def test_a_busy_port_is_one_line_and_a_failure(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = subprocess.run(
            [sys.executable, "-m", "liyagent.demo.vendors", "--port", port, "--ledger", tmp_path],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    assert told.returncode == 1
    assert told.stderr.strip().splitlines() == [
        f"cannot listen on 127.0.0.1:{port}: Address already in use"
    ]
