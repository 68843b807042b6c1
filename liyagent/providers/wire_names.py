"""Tool names as the chat-completions format lets them stand: `^[a-zA-Z0-9_-]{1,64}$`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from liyagent.core.canonical import digest

MOST_LENGTH = 64
DIGEST_LENGTH = 12
# Only where the slash can be found again; every other name carries a digest, and so does one that ends as if
# it did: else a server could give a tool the very name that another of its tools has on the wire.
PLAIN = re.compile(
    r"(?!.*__)(?!.*_[0-9a-f]{12}$)[a-zA-Z0-9_-]*[a-zA-Z0-9-]/[a-zA-Z0-9-][a-zA-Z0-9_-]*"
)
UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


def wire_name(name: str) -> str:
    """Return `server/tool` as `server__tool`, shortened and digested where that would be ambiguous."""
    wire = name.replace("/", "__")
    if PLAIN.fullmatch(name) and len(wire) <= MOST_LENGTH:
        return wire
    start = UNFIT.sub("_", wire)[: MOST_LENGTH - DIGEST_LENGTH - 1]
    return f"{start}_{digest(['tool-name', name])[:DIGEST_LENGTH]}"


def names_by_wire(names: Iterable[str]) -> dict[str, str]:
    """Return the table that leads back from the wire; a name that it lacks is no tool's."""
    return {wire_name(name): name for name in names}
