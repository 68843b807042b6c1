"""What is answered, and what is refused, before an agent is asked anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.entry.models import Arrival
from runs.models import Run
from tests.fakes.mcp_client import MODERN, McpUser, Response, asks, rpc
from tests.flows.conftest import api_of, make_user
from tests.unit.runs.carrying.conftest import World

OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
# A full-width letter and a digit of another script among them.
HOSTILE_MISSIONS = ["INC-1\n", "INC-1\r\nX-Evil: 1", " INC-1", "\uff29NC-1", "INC-\u0661", "-INC", "x" * 129, "", 7, ["INC-1"], None, {}]  # fmt: skip


def refusal(response: Response) -> tuple[int, Any]:
    """The status and the code of a refusal: a problem's, or the protocol's."""
    data = response.data
    return response.status, data["error"]["code"] if "error" in data else data["code"]


def test_every_agent_that_is_open_is_a_tool_and_one_tells_results(
    world: World, either: McpUser
) -> None:
    Agent.objects.update(instructions="never told")
    others: dict[str, dict[str, Any]] = {
        "beta": {"channels": ["mcp", "api"], "name": "Beta"},
        "gone": {"is_enabled": False},
        "shut": {"channels": ["api"]},
        "run_result": {},
    }
    for key, facts in others.items():
        make_agent(key, **facts)
    listed = either.does(lambda it: it.list_tools()).tools
    assert [it.name for it in listed] == ["run_result", "beta", "triage"]
    beta = listed[1]
    assert (beta.title, "Beta" in (beta.description or "")) == ("Beta", True)
    assert beta.input_schema["required"] == ["task"]
    assert beta.annotations is not None
    assert (beta.annotations.read_only_hint, beta.annotations.destructive_hint) == (False, True)
    assert "never told" not in str(listed)


def test_a_long_catalogue_has_pages(
    world: World, ann: McpUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("liyagent.entry.mcp_server.tools.PAGE", 2)
    for key in ("alpha", "beta", "gamma"):
        make_agent(key)
    names, cursor = [], None
    for _ in range(2):
        page = ann.post(rpc("tools/list", {"cursor": cursor} if cursor else {})).data["result"]
        names += [it["name"] for it in page["tools"]]
        cursor = page.get("nextCursor")
    assert names == ["run_result", "alpha", "beta", "gamma", "triage"]
    assert cursor is None
    assert refusal(ann.post(rpc("tools/list", {"cursor": "x"}))) == (200, -32602)


@pytest.mark.parametrize("tool", ["shut", "gone", "nobody", "", "triage/x", "x" * 500])
def test_what_is_not_open_cannot_be_called(world: World, ann: McpUser, tool: str) -> None:
    make_agent("shut", channels=["api"])
    make_agent("gone", is_enabled=False)
    for arguments in ({}, {"task": 7}):
        assert refusal(ann.post(asks(tool, **arguments))) == (200, -32602)
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"task": ""}, "task"),
        ({"task": 7}, "task"),
        ({"task": "x" * 200_001}, "task"),
        ({"wait_seconds": -1}, "wait_seconds"),
        ({"wait_seconds": 3601}, "wait_seconds"),
        ({"wait_seconds": "soon"}, "wait_seconds"),
        ({"history": [{"role": "system", "text": "x"}]}, "history.0.role"),
        ({"history": [{"role": "user", "text": "x"}] * 501}, "history"),
        ({"extra": 1}, "extra"),
    ],
)
def test_arguments_that_cannot_be_used_are_told_by_name(
    world: World, ann: McpUser, arguments: dict[str, Any], said: str
) -> None:
    told = ann.post(asks(**arguments)).data["result"]
    assert told["isError"]
    assert said in told["content"][0]["text"]
    assert not Arrival.objects.exists()


@pytest.mark.promise("MI-01")
def test_a_call_names_its_mission_in_meta_or_by_the_requests_headers(
    world: World, ann: McpUser
) -> None:
    meta = {"io.liyagent/mission": "INC-1"}
    for headers, mission in (
        ({}, "INC-1"),
        ({"X_Liyagent_Mission": "INC-2"}, "INC-2"),
        ({"X_Liyagent_Mission": "INC 2"}, "INC-1"),
        ({"baggage": "x=1,liyagent.mission=INC%2D3;ttl=5"}, "INC-3"),
    ):
        answer = ann.post(asks(meta=meta, wait_seconds=0), **headers)
        run = Run.objects.latest("created_at")
        assert run.mission == answer.data["result"]["structuredContent"]["mission"] == mission
        assert answer.data["result"]["_meta"]["io.liyagent/mission"] == mission
        assert run.request_id == answer.headers["X-Request-ID"]


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize("mission", HOSTILE_MISSIONS)
def test_a_mission_of_any_other_shape_is_dropped(world: World, ann: McpUser, mission: Any) -> None:
    answer = ann.post(asks(meta={"io.liyagent/mission": mission}, wait_seconds=0))
    run = Run.objects.get()
    assert run.mission == str(run.correlation_id)
    assert answer.data["result"]["_meta"]["io.liyagent/mission"] == run.mission


def test_nobody_gets_in_without_a_key_that_may_operate(world: World, ann: McpUser) -> None:
    kim = api_of(make_user("kim", "runs.view_run")).token
    nobody = replace(ann, token="").post(asks())
    assert refusal(nobody) == (401, "auth.missing")
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    assert replace(ann, token="liy_x_y").post(asks()).status == 401
    assert refusal(replace(ann, token=kim).post(asks()))[0] == 403
    assert refusal(ann.ask("GET"))[0] == refusal(ann.ask("DELETE"))[0] == 405
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("evil.example.com", "", 421),
        ("", "", 421),
        ("127.0.0.1.evil.example.com", "", 421),
        ("localhost:1234", "", 200),
        ("127.0.0.1", "http://evil.example.com", 403),
        ("127.0.0.1", "null", 403),
        ("127.0.0.1", "http://[", 403),
        ("127.0.0.1", "http://localhost:5173", 200),
    ],
)
def test_no_page_of_another_site_and_no_name_of_another_reaches_it(
    world: World, ann: McpUser, host: str, origin: str, status: int
) -> None:
    headers = {"Host": host, **({"Origin": origin} if origin else {})}
    assert ann.post(rpc("ping"), **headers).status == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}',
        b"[" * 200 + b"]" * 200,
        b"[]",
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    ],
)
@pytest.mark.parametrize("headers", [{}, {"MCP_Protocol_Version": MODERN}])
def test_what_is_no_request_is_400_with_the_protocols_own_error(
    world: World, ann: McpUser, body: bytes, headers: dict[str, str]
) -> None:
    status, code = refusal(ann.post(body, **headers))
    assert status == 400
    assert code in {-32700, -32600, -32602}


def test_words_that_cannot_be_stored_are_made_storable_where_they_enter(
    world: World, ann: McpUser
) -> None:
    ann.post(asks(task="look \x00 \ud800", wait_seconds=0))
    assert Run.objects.count() == 1


def test_it_is_opened_by_either_protocol_and_answers_a_ping(world: World, ann: McpUser) -> None:
    opened = ann.post(rpc("initialize", OPENING)).data["result"]
    assert opened["serverInfo"]["name"] == "liyagent"
    assert opened["protocolVersion"] == "2025-11-25"
    assert "tools" in opened["capabilities"]
    assert ann.post(rpc("ping")).data["result"] == {}
    assert ann.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
    assert refusal(ann.post(rpc("resources/list"))) == (200, -32601)
    assert ann.does(lambda it: it.list_tools()).tools


def make_agent(key: str, **facts: Any) -> None:
    """Another agent, like the world's own."""
    agent = Agent.objects.get(key="triage")
    agent.pk, agent.key = None, key
    for name, value in facts.items():
        setattr(agent, name, value)
    agent.save(force_insert=True)
