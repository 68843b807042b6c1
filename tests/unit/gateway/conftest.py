"""What the gateway's tests share: calls, payloads, a scope that remembers, and a tool server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from liyagent.gateway import mcp
from liyagent.gateway.contracts import Address
from tests.fakes.tool_server import ToolServer


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


@pytest.fixture(params=["stateless", "legacy"])
def any_server(request: pytest.FixtureRequest) -> ToolServer:
    """Each of the two in turn."""
    name = {"stateless": "tool_server", "legacy": "legacy_server"}[request.param]
    server = request.getfixturevalue(name)
    assert isinstance(server, ToolServer)
    return server


@pytest.fixture
def address(tool_server: ToolServer) -> Address:
    """Where the stateless server is reached."""
    return address_for(tool_server)


def address_for(server: ToolServer) -> Address:
    """Return the address under which calls reach `server`."""
    return Address(server="jira", transport="http", url=server.url, bearer_env="")
