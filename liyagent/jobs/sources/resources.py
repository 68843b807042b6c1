"""The resources of a tool server, each a document: read through the gateway."""

from __future__ import annotations

from liyagent.core.errors import NotFound
from liyagent.gateway.mcp_resources import ResourceGone, ResourceUnreadable
from liyagent.gateway.resources import list_resources, read_resource
from liyagent.jobs.sources.errors import Gone, SourceAway, Unreadable
from liyagent.jobs.sources.origin import LONGEST_PATH, Content, ordered
from liyagent.jobs.sources.text import MOST_BYTES


class Resources:
    """What one server offers to be read."""

    def __init__(self, server: str) -> None:
        """`server` is its key."""
        self._server = server

    def paths(self) -> list[str]:
        """Return the URIs in order. Raises `SourceAway`."""
        try:
            found = list_resources(self._server)
        except (NotFound, ResourceUnreadable) as error:
            raise SourceAway(f"the resources of {self._server} cannot be listed: {error}") from None
        return ordered((it for it in found if len(it) <= LONGEST_PATH), self._server)

    def read(self, path: str) -> Content:
        """Return one. Raises `Unreadable`, `Gone`, and `SourceAway` where its server is switched off or away."""
        try:
            found = read_resource(self._server, path)
        except NotFound as error:
            raise SourceAway(str(error)) from None
        except ResourceGone:
            raise Gone from None
        except ResourceUnreadable as error:
            # The server as a whole, or this one: where it lists them still, it is there.
            self.paths()
            raise Unreadable(str(error)) from None
        content = found.text.encode("utf-8", "replace")
        if len(content) > MOST_BYTES:
            raise Unreadable(f"has more than {MOST_BYTES} bytes")
        return Content(content=content, is_html=found.mime_type == "text/html", title=path)
