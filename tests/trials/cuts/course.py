"""The course of a run: the messages that its process exchanges, in their order, and where in it a cut is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Moment(StrEnum):
    """When a message is cut: as it comes, once the other side has done it, or once its answer was passed back."""

    BEFORE = "before"
    EFFECTED = "at the answer of"
    PASSED = "after"


class Fault(StrEnum):
    """What is done to the process that carries the run."""

    KILL = "killed"
    FREEZE = "frozen"
    DISCONNECT = "disconnected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The `nth` message of that name in a course, the first being 1."""

    name: str
    nth: int

    def __str__(self) -> str:
        """As people read it."""
        return self.name if self.nth == 1 else f"{self.name} ({self.nth})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the victim is struck: at the `number`th message of the recorded course, and how."""

    number: int
    message: Message
    moment: Moment
    fault: Fault = Fault.KILL

    def __str__(self) -> str:
        """`k=7 before liyagent_settle, killed`."""
        return f"k={self.number} {self.moment} {self.message}, {self.fault}"


def course_of(names: Iterable[str]) -> tuple[Message, ...]:
    """Return the course that these names, one after another, are."""
    seen: Counter[str] = Counter()
    course = []
    for name in names:
        seen[name] += 1
        course.append(Message(name=name, nth=seen[name]))
    return tuple(course)
