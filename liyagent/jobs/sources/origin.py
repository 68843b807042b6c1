"""What each kind of origin offers: its paths in order, and the content of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from liyagent.jobs.sources.errors import SourceAway

MOST_DOCUMENTS = 50_000
LONGEST_PATH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What was fetched of one document."""

    content: bytes
    is_html: bool = False
    title: str = ""


class Origin(Protocol):
    """Where the documents of a source come from."""

    def paths(self) -> list[str]:
        """Return every path in order, at most 50,000. Raises `SourceAway`."""

    def read(self, path: str) -> Content:
        """Return one. Raises `Unreadable`, `Gone`, or `SourceAway` where the whole source is away."""


def ordered(found: Iterator[str], source: str) -> list[str]:
    """Return paths in order, each once. Raises `SourceAway` where there are too many: none is silently left out."""
    paths: set[str] = set()
    for path in found:
        paths.add(path)
        if len(paths) > MOST_DOCUMENTS:
            raise SourceAway(f"{source} has more than {MOST_DOCUMENTS} documents; split it")
    return sorted(paths)
