"""Calls, payloads, policies and a scope that remembers, for the tests of the gateway."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from liyagent.gateway.contracts import Address
from liyagent.gateway.outcome import (
    Asker,
    Call,
    Contract,
    Effect,
    Fate,
    MaySend,
    Outcome,
    Payload,
    Rights,
    Scope,
    Verdict,
)
from liyagent.gateway.policies import PolicySet, parse_policies
from tests.fakes.tool_server import ToolServer

PERMIT_ALL = parse_policies('@id("all") permit(principal, action, resource);')
ASKER = Asker(
    agent="triage",
    tool_patterns=("jira/*",),
    write_posture="allow",
    run_as="service",
    rights=Rights(principal="service", is_active=True),
    entry="api",
    mission="m-1",
)


def a_call(tool: str = "create_issue", *, asker: Asker = ASKER, **changes: Any) -> Call:
    """A write of `jira/<tool>` that every gate lets through, but for `changes`."""
    given: dict[str, Any] = {
        "server": "jira",
        "tool": tool,
        "args": {"title": "disk full"},
        "index": 0,
        "provider_call_id": "c-1",
        "contract": a_contract(tool),
    }
    return Call(asker=asker, **(given | changes))


def a_contract(tool: str = "create_issue", **changes: Any) -> Contract:
    """The contract of a write without a key."""
    return replace(Contract(server="jira", tool=tool), **changes)


def a_read(tool: str = "get_issue", **changes: Any) -> Call:
    """A read of `jira/<tool>`."""
    return a_call(
        tool, args={"id": "OPS-1"}, contract=a_contract(tool, effect=Effect.READ), **changes
    )


def a_payload(tool: str = "create_issue", **changes: Any) -> Payload:
    """What leaves for a write of `jira/<tool>`, but for `changes`."""
    given: dict[str, Any] = {
        "server": "jira",
        "tool": tool,
        "args": {"title": "disk full"},
        "key": "step-key-1",
        "mission": "m-1",
        "is_write": True,
        "timeout_seconds": 5.0,
        "limit_bytes": 1 << 20,
    }
    return Payload(**(given | changes))


def a_read_payload(tool: str = "get_issue", **changes: Any) -> Payload:
    """What leaves for a read of `jira/<tool>`."""
    return a_payload(tool, **({"is_write": False, "args": {"id": "OPS-1"}} | changes))


def address_for(server: ToolServer) -> Address:
    """The address under which calls reach `server`."""
    return Address(server="jira", transport="http", url=server.url, bearer_env="")


def policy(text: str) -> PolicySet:
    """A parsed policy set."""
    return parse_policies(text)


def always() -> bool:
    """A mark without a deadline."""
    return True


def never() -> bool:
    """A mark whose deadline has passed."""
    return False


@dataclass(slots=True)
class RememberingScope(Scope):
    """Remembers what it was asked, in order; each mark answers with the next of `marks`."""

    marks: list[MaySend | Outcome] = field(default_factory=lambda: [always])
    steps: list[str] = field(default_factory=list)
    settled: list[tuple[Verdict, Payload | None, Outcome]] = field(default_factory=list)

    def step_key(self, call: Call) -> str:
        """The same key for the same step."""
        self.steps.append("key")
        return f"key-of-{call.provider_call_id}"

    def mark_sending(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        """The next mark."""
        self.steps.append("mark")
        return self.marks.pop(0)

    def hold(self, verdict: Verdict) -> Outcome:
        """Held."""
        self.steps.append("hold")
        return Outcome(fate=Fate.HELD, error=verdict.reason)

    def find_out(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Still unknown."""
        self.steps.append("find_out")
        return Outcome(fate=Fate.UNKNOWN, settlement="told_unknown")

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Kept."""
        self.steps.append("settle")
        self.settled.append((verdict, payload, outcome))
