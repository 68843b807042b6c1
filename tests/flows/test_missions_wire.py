"""Missions as bytes on a wire, to the server that `manage.py serve` runs: headers as they come, and as they are answered."""

from __future__ import annotations

import socket
from urllib.parse import quote

import pytest

from liyagent.agents.models import Agent
from runs.models import Run
from tests.flows.conftest import Api
from tests.flows.serving import serving
from tests.unit.missions.hostile import HOSTILE_TEXTS

# What stands around a value on a wire is no part of it, and a line end is none of the two.
SENDABLE = [it for it in HOSTILE_TEXTS if it == it.strip(" \t") and not set(it) & set("\r\n\x00")]


def asked(
    port: int, *lines: bytes, method: bytes = b"GET /health/live", body: bytes = b""
) -> bytes:
    """Send a request with these header lines and return all that is answered."""
    head = [method + b" HTTP/1.1", b"host: 127.0.0.1", b"connection: close", *lines]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    return answer


def taken(answer: bytes) -> str:
    """The mission that an answer names."""
    lines = answer.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
    named = [it.partition(b":")[2].strip() for it in lines if it.startswith(b"x-liyagent-mission:")]
    return b",".join(named).decode()


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98", "FL-99")
def test_no_hostile_header_or_baggage_is_taken_or_answered(operator: Api, agent: Agent) -> None:
    with serving() as port:
        for value in SENDABLE:
            sent = value.encode(errors="surrogatepass")
            twice = quote(quote(value, errors="replace", safe=""), safe="").encode()
            assert taken(asked(port, b"X-Liyagent-Mission: " + sent)) == "", value
            assert taken(asked(port, b"baggage: liyagent.mission=" + sent)) in {"", "inc-1"}, value
            assert taken(asked(port, b"baggage: liyagent.mission=" + twice)) == "", value
        assert taken(asked(port, b"x-liyagent-mission: INC-1", b"X-Liyagent-Mission: INC-2")) == ""
        assert taken(asked(port, b"x-liyagent-mission: INC-1", b"X-Liyagent-Mission: INC-1")) == ""
        doubled = (b"x-liyagent-mission: INC-1", b"x-liyagent-mission: INC-2")
        assert taken(asked(port, *doubled, b"baggage: liyagent.mission=INC-3")) == "inc-3"
        parted = (b"baggage: a=%zz", b"baggage: x=1, liyagent.mission=INC%2D77;ttl=5")
        assert taken(asked(port, *parted)) == "inc-77"
        assert taken(asked(port, b"baggage: liyagent.mission=INC-7,x=" + b"y" * 9000)) == ""
        smuggled = asked(port, b"baggage: liyagent.mission=INC-1%0d%0aX-Evil:%201")
        assert b"x-evil" not in smuggled.lower()


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-99")
def test_a_run_that_is_started_over_a_wire_is_of_the_mission_of_the_baggage(
    operator: Api, agent: Agent
) -> None:
    body = b'{"task": "look"}'
    lines = (
        f"authorization: Bearer {operator.token}".encode(),
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        b"baggage: user=a%2Cliyagent.mission%3DEVIL, liyagent.mission=INC%2D77",
    )
    with serving() as port:
        answer = asked(port, *lines, method=b"POST /api/agents/triage/runs", body=body)
    assert answer.startswith(b"HTTP/1.1 202")
    assert taken(answer) == "inc-77"
    assert Run.objects.get().mission == "INC-77"
