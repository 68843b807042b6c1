"""`documents/search`: the tool that agents search documents by. It changes nothing, and shows an agent its sources alone."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any

from liyagent.core.errors import Conflict
from liyagent.gateway.declare import ServerDeclaration
from liyagent.gateway.local import ToolFailed, local_tool
from liyagent.gateway.models import ToolServer, Transport
from liyagent.gateway.outcome import Effect, Payload
from liyagent.gateway.servers import find_server, save_server
from liyagent.gateway.sync import sync_server
from liyagent.jobs.sources.search import (
    LONGEST_QUERY,
    MOST_FOUND,
    SearchTooSlow,
    search_documents,
    sources_of,
)

SERVER, TOOL = "documents", "documents/search"
FOUND = 5
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_QUERY,
            "description": 'Words to look for; "in quotes" as a phrase, or between alternatives, - before what shall not be there.',
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FOUND,
            "description": f"How many documents at most; {FOUND} unless told.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


@local_tool(
    TOOL,
    effect=Effect.READ,
    description="Search the documents kept for this agent. Best first, each with its source, path, title and a snippet.",
    schema=SCHEMA,
)
def search(payload: Payload) -> dict[str, Any]:
    """Search for the agent that asks. Fails clearly for a query that cannot be used, and where no source names the agent."""
    query, limit = payload.args.get("query"), payload.args.get("limit", FOUND)
    if not isinstance(query, str) or not query.strip() or len(query) > LONGEST_QUERY:
        raise ToolFailed(f"query wants 1 to {LONGEST_QUERY} characters")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_FOUND:
        raise ToolFailed(f"limit wants a whole number from 1 to {MOST_FOUND}")
    if not payload.agent or not sources_of(payload.agent):
        raise ToolFailed("no documents are kept for this agent")
    try:
        found = search_documents(payload.agent, query.replace("\x00", " "), limit=limit)
    except SearchTooSlow as error:
        raise ToolFailed(str(error)) from None
    return {"documents": [dataclasses.asdict(it) for it in found]}


def offer_search(*, actor: str) -> ToolServer:
    """Have the server `documents` with its tool, so that agents can be allowed `documents/search`; return it.

    Raises `Conflict` where a server of that name is another's.
    """
    server = ToolServer.objects.filter(key=SERVER).first()
    if server is None:
        columns = {"name": "Documents", "transport": Transport.LOCAL}
        with suppress(Conflict):  # Somebody else made it at the same moment.
            save_server(ServerDeclaration(key=SERVER, columns=columns, tools={}), actor=actor)
        server = find_server(SERVER)
    if server.transport != Transport.LOCAL:
        raise Conflict(
            f"the tool server {SERVER} is another's; agents cannot search until it has another key"
        )
    if server.catalogue_read_at is None:
        sync_server(server, actor=actor)
    return server
