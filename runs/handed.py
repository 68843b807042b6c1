"""What is kept, sealed, of a hand-off between its two versions: with the mark of its call, and with the child that it began."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from events.buffer import EventBuffer

# Under this name, in a mark and in a first part.
NAME = "handoff"
WRITTEN, READ = "written", "read"
AGENT, REMOTE, WORKFLOW = "agent:", "remote:", "workflow:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A hand-off that was begun: its thread, the digest of its first version, and who handed it to whom.

    `keeps_words`: both sides are recorded in full.
    """

    thread: UUID
    digest: str
    sender: str
    recipient: str
    keeps_words: bool

    @property
    def is_remote(self) -> bool:
        """Whether it went to another house: no event told of it before its call is settled."""
        return self.recipient.startswith(REMOTE)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is sealed."""
        return {**asdict(self), "thread": str(self.thread)}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Handed:
        """Return what was sealed."""
        return cls(**{**told, "thread": UUID(told["thread"])})


def tell_version(
    events: EventBuffer, *, thread: UUID, number: int, digest: str, direction: str
) -> None:
    """Buffer that this run wrote or read a version (HO-04)."""
    events.add("handoff", thread=str(thread), version=number, digest=digest, direction=direction)
