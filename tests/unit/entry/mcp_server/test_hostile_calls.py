"""What nobody sends by accident: each is refused in the protocol's way or as over the API, starts nothing, and holds up nobody."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from liyagent.entry.models import Arrival
from runs.models import Run
from runs.stream import LOOKOUT
from tests.fakes.mcp_client import ACCEPT, MODERN, McpUser, asks, read_response, rpc
from tests.flows.carrying import carrying
from tests.unit.entry.mcp_server.test_calls import until
from tests.unit.entry.mcp_server.test_protocol import refusal
from tests.unit.runs.carrying.conftest import World, says

OF_MODERN = {
    "MCP_Protocol_Version": MODERN,
    "Mcp_Method": "tools/call",
    "Mcp_Name": "triage",
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
NO_IDS: tuple[Any, ...] = (1.5, 1e300, True, False, None, {}, [1])
NO_PARAMS: tuple[Any, ...] = (
    None, {}, {"name": 7}, {"name": "triage", "arguments": []}, {"name": "triage", "arguments": "x"}, {"name": None, "arguments": {}},
    {"name": "tri\x00age", "arguments": {"task": "x"}}, {"name": "triage", "arguments": {"task": "x"}, "_meta": []},
    {"name": "triage", "arguments": {"task": "x"}, "_meta": {"progressToken": {}}}, {"name": "triage", "arguments": {"task": {"a": 1}}},
    {"name": "triage", "arguments": {"task": "x"}, "_meta": {"io.liyagent/key": "k" * 10_000}},
    {"name": "triage", "arguments": {"task": "x"}, "_meta": {"io.liyagent/key": "\ud800"}},
    {"name": "triage", "arguments": {"task": "x"}, "_meta": {"io.liyagent/step-key": "a\x00b"}},
    {"name": "triage", "arguments": {"task": "x", "history": {"a": 1}}}, {"name": "run_result", "arguments": {"run_id": "x"}},
    {"name": "run_result"}, {"cursor": "x" * 100_000},
)  # fmt: skip
NO_BODIES = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}', gzip.compress(b" " * 10_000_000),
    json.dumps([asks(), asks()]).encode(), json.dumps({**asks(), "params": [1]}).encode(),
)  # fmt: skip


def test_a_call_whose_id_no_answer_can_bear_is_refused_and_not_taken_for_a_notification(
    world: World, ann: McpUser
) -> None:
    for headers, meta in (({}, {}), (OF_MODERN, ENVELOPE)):
        for it in NO_IDS:
            body = {**asks(meta=meta, wait_seconds=0), "id": it}
            assert refusal(ann.post(body, **headers)) == (400, -32600), it
    assert not Arrival.objects.exists()


def test_a_call_of_a_wrong_shape_is_refused_by_either_protocol_and_starts_nothing(
    world: World, ann: McpUser
) -> None:
    for params in NO_PARAMS:
        body = {**rpc("tools/call"), "params": params}
        for headers in ({}, OF_MODERN):
            answer = ann.post(body, **headers)
            is_told = answer.data.get("result", {}).get("isError") or "error" in answer.data
            assert (answer.status in {200, 400}, is_told) == (True, True), params
    for content in NO_BODIES:
        assert refusal(ann.post(content))[0] == 400, content[:60]
    assert not Arrival.objects.exists()


@pytest.mark.parametrize("version", [{}, OF_MODERN])
def test_what_is_no_json_or_takes_no_answer_is_refused_with_a_problem(
    world: World, ann: McpUser, version: dict[str, str]
) -> None:
    refused = {
        (415, "body.media_type"): [{"Content_Type": it} for it in ("text/plain", "", "application/jsonl")],
        (406, "request.refused"): [{"Accept": it} for it in ("text/html", "", "application/json")],
    }  # fmt: skip
    for expected, sent in refused.items():
        for headers in sent:
            assert refusal(ann.post(asks(meta=ENVELOPE), **version, **headers)) == expected
    assert not Arrival.objects.exists()


@contextmanager
def half_sent(ann: McpUser, rest: bytes) -> Iterator[socket.socket]:
    """A request whose head has come, and of its body what `rest` says."""
    lines = (
        "POST /mcp HTTP/1.1", "Host: localhost", f"Authorization: Bearer {ann.token}", f"Accept: {ACCEPT}", "Content-Type: application/json",
    )  # fmt: skip
    with socket.create_connection(("127.0.0.1", ann.port), timeout=10) as wire:
        wire.sendall("\r\n".join(lines).encode() + b"\r\n" + rest)
        yield wire


def test_bodies_without_an_end_are_cut_and_those_that_were_cut_start_nothing(
    world: World, ann: McpUser
) -> None:
    with half_sent(ann, b"Content-Length: 100000000\r\n\r\n") as wire:
        assert b" 413 " in wire.recv(200)
    with half_sent(ann, b"Transfer-Encoding: chunked\r\n\r\n") as wire:
        for _ in range(200):
            wire.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        assert b" 413 " in wire.recv(200)
    call = json.dumps(asks(wait_seconds=0)).encode()
    for _ in range(20):
        with half_sent(ann, b"Content-Length: %d\r\n\r\n%s" % (len(call), call[:-1])):
            pass
    assert ann.post(rpc("ping")).status == 200
    assert not Arrival.objects.exists()


def test_many_who_wait_are_slow_or_hang_up_hold_up_nobody_and_leave_nothing_behind(
    world: World, ann: McpUser
) -> None:
    ann.post(asks(wait_seconds=0))
    threads = threading.active_count()
    slow = [half_sent(ann, b"Content-Length: 1000\r\n\r\n{") for _ in range(30)]
    for it in slow:
        it.__enter__()
    waiting = [
        ann.sent("POST", json.dumps(asks(meta={**ENVELOPE, "progressToken": number})).encode(), **(OF_MODERN if number % 2 else {}))
        for number in range(20)
    ]  # fmt: skip
    until(lambda: len(LOOKOUT.watched) == 20)
    assert ann.post(rpc("tools/list")).status == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        ((sessions,),) = cursor.fetchall()
    assert sessions < 15
    assert threading.active_count() - threads < 20
    for call in waiting:
        call.close()
    for it in slow:
        it.__exit__(None, None, None)
    until(lambda: not LOOKOUT.watched)
    assert Run.objects.count() == 21


def test_two_calls_of_one_id_are_two_and_nobody_elses_cancelling_ends_either(
    world: World, ann: McpUser
) -> None:
    world.model.steps = [says("all is well"), says("all is well")]
    calls = [
        ann.sent("POST", json.dumps(asks(task=it)).encode(), MCP_Protocol_Version="2025-11-25")
        for it in ("one", "two")
    ]
    until(lambda: len(LOOKOUT.watched) == 2)
    cancelled = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1},
    }
    assert ann.post(cancelled).status == 202
    with carrying():
        told = [read_response(it).data["result"]["structuredContent"] for it in calls]
    assert [it["answer"] for it in told] == ["all is well"] * 2
    assert len({it["run_id"] for it in told}) == Run.objects.count() == 2
