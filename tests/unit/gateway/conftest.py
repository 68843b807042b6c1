"""Tool servers for the tests of the gateway, and caches that do not outlive a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from liyagent.gateway import mcp
from liyagent.gateway.active import forget_policies
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.run_as import forget_rights
from tests.fakes.tool_server import ToolServer


@pytest.fixture(autouse=True)
def _nothing_cached() -> None:
    """Each test has a database of its own, and reads it anew."""
    forget_contracts()
    forget_policies()
    forget_rights()


@pytest.fixture
def tool_server() -> Iterator[ToolServer]:
    """A tool server of the stateless protocol; its client's connections are shut afterwards."""
    with ToolServer() as server:
        yield server
        mcp.close_all()


@pytest.fixture
def legacy_server() -> Iterator[ToolServer]:
    """A tool server that keeps sessions and answers in event streams."""
    with ToolServer(legacy=True, json_response=False) as server:
        yield server
        mcp.close_all()


@pytest.fixture(params=["tool_server", "legacy_server"])
def any_server(request: pytest.FixtureRequest) -> ToolServer:
    """Each of the two in turn."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, ToolServer)
    return server
