"""A small world, our server over it, and one who asks its agent by MCP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fakes.mcp_client import McpUser
from tests.flows.conftest import api_of, make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture
def ann(port: int) -> McpUser:
    """One who may start runs."""
    return McpUser(port=port, token=api_of(make_user("ann", "agents.operate")).token)


@pytest.fixture(params=["auto", "legacy"])
def either(request: pytest.FixtureRequest, ann: McpUser) -> McpUser:
    """The same by the protocol of 2026-07-28, and by that of 2025-11-25."""
    return replace(ann, mode=request.param)
