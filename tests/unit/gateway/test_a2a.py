"""Calls of a real remote agent, well and badly behaved: from its ledger, never from what we believe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from liyagent.gateway import a2a
from liyagent.gateway.contracts import Address
from liyagent.gateway.outcome import Fate, Outcome
from tests.fakes.remote_agent import RemoteAgent
from tests.unit.gateway.support import a_payload, always


@pytest.fixture(params=["1.0", "0.3"])
def agent(request: pytest.FixtureRequest) -> Iterator[RemoteAgent]:
    """A remote agent of either version; its client's connections are shut afterwards."""
    with RemoteAgent(versions=(request.param,)) as agent:
        yield agent
        a2a.close_all()


def address_for(agent: RemoteAgent, **changes: Any) -> Address:
    """The address under which messages reach it."""
    return Address(**{"server": "disks", "transport": "a2a", "url": agent.url, **changes})


def payload(tool: str, args: dict[str, Any], **changes: Any) -> Any:
    """What leaves for a call of it."""
    is_write = tool == "ask"
    return a_payload(tool, **{"server": "disks", "args": args, "is_write": is_write, **changes})


def ask(agent: RemoteAgent, message: str, **changes: Any) -> Outcome:
    """Ask it once."""
    return a2a.call(address_for(agent), payload("ask", {"message": message}, **changes), always)


def read(agent: RemoteAgent, tool: str, **args: Any) -> Outcome:
    """Look at it once."""
    return a2a.call(address_for(agent), payload(tool, args), always)


def test_an_agent_is_asked_once_and_its_answer_is_the_result(agent: RemoteAgent) -> None:
    outcome = ask(agent, "how full is disk 4?")
    assert outcome.fate is Fate.DONE, outcome
    assert outcome.result["state"] == "completed"
    assert outcome.result["answer"] == "done: how full is disk 4?"
    (asked,) = agent.asked
    assert asked.meta == {
        "id": "step-key-1",
        "io.liyagent/step-key": "step-key-1",
        "io.liyagent/mission": "m-1",
    }
