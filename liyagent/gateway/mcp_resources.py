"""Read the resources of an MCP server over a session that stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from liyagent.core.errors import LiyagentError
from liyagent.gateway.mcp_session import LONGEST_TROUBLE, MOST_PAGES, Session, SessionLost
from missions.carry import META_KEY
from missions.context import current_stamp

MOST_URIS = 50_000
# JSON-RPC's codes for a resource that is not there: the protocol's own, and the one of its newer versions.
NOT_THERE = (-32002, -32602)


class ResourceUnreadable(LiyagentError):
    """The server's resources cannot be read."""

    code = "gateway.resource_unreadable"


class ResourceGone(LiyagentError):
    """The server has no such resource."""

    code = "gateway.resource_gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The text of a resource: of all its parts; what is no text is left out."""

    text: str
    mime_type: str = ""


async def list_resources(session: Session) -> list[str]:
    """Return every URI. Raises `ResourceUnreadable`."""
    from mcp import MCPError  # noqa: PLC0415 - see Session.catalogue

    found: list[str] = []
    cursor = None
    try:
        for _ in range(MOST_PAGES):
            page = await session.opened().list_resources(cursor=cursor)
            found += [str(it.uri) for it in page.resources]
            cursor = page.next_cursor
            if not cursor:
                return found
            if len(found) > MOST_URIS:
                break
    except (MCPError, SessionLost, ValueError, RuntimeError) as error:
        raise _unreadable(session, error) from error
    raise ResourceUnreadable(f"{session.address.server}: it lists more than {MOST_URIS} resources, or {MOST_PAGES} pages of them")  # fmt: skip


async def read_resource(session: Session, uri: str) -> Resource:
    """Return one, asked for with the mission of what is worked for (MI-05). Raises `ResourceUnreadable`, `ResourceGone`."""
    from mcp import MCPError  # noqa: PLC0415 - see Session.catalogue

    mission = current_stamp().mission_of_work
    meta: Any = {META_KEY: mission} if mission else None
    try:
        answer = await session.opened().read_resource(uri, meta=meta)
    except MCPError as error:
        if error.error.code in NOT_THERE:
            raise ResourceGone(f"{session.address.server} has no resource {uri[:200]}") from error
        raise _unreadable(session, error) from error
    except (SessionLost, ValueError, RuntimeError) as error:
        raise _unreadable(session, error) from error
    parts = [it for it in answer.contents if getattr(it, "text", None) is not None]
    kind = (parts[0].mime_type or "") if parts else ""
    return Resource(text="\n".join(it.text for it in parts), mime_type=kind)


def _unreadable(session: Session, error: Exception) -> ResourceUnreadable:
    said = " ".join((session.trouble if session.is_ended else str(error)).split())
    return ResourceUnreadable(f"{session.address.server}: {said[:LONGEST_TROUBLE]}")
