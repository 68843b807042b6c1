"""Resources of a tool server: what it offers to be read, beside its tools."""

from __future__ import annotations

from liyagent.core.errors import NotFound
from liyagent.core.transactions import forbid_transaction
from liyagent.gateway import mcp
from liyagent.gateway.contracts import Address, address_of
from liyagent.gateway.mcp_resources import Resource
from liyagent.gateway.models import BY_MCP


def list_resources(server: str) -> list[str]:
    """Return the URIs of every resource. Raises `NotFound` for a server that is off, `ResourceUnreadable`."""
    forbid_transaction(f"listing the resources of {server}")
    return mcp.list_resources(_address(server))


def read_resource(server: str, uri: str) -> Resource:
    """Return the text of one. Raises as `list_resources`, and `ResourceGone`."""
    forbid_transaction(f"reading a resource of {server}")
    return mcp.read_resource(_address(server), uri)


def _address(server: str) -> Address:
    address = address_of(server)
    if address is None or address.transport not in BY_MCP:
        raise NotFound(f"server {server} is not set up or not enabled")
    return address
