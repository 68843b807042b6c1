"""A run as routines are compiled from it: what it was asked, and each call that it made with what came back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from liyagent.core.canonical import canonical

# Of all that is compared while one routine is compiled: arguments, and the texts that outputs are read from.
MOST_WEIGHT = 32 << 20
# So many runs are compiled from, however much they weigh.
LEAST_SOURCES = 3
MOST_SOURCES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call that was done. `args` are what the tool was given, `output` what it answered, plain JSON as it was recorded."""

    server: str
    tool: str
    args: dict[str, Any]
    output: Any

    @property
    def name(self) -> str:
        """Which tool of which server."""
        return f"{self.server}/{self.tool}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run that answered, and whose calls were all done. `id` tells it from the others."""

    id: str
    task: str
    calls: tuple[RecordedCall, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it called, in order: what runs of one pattern have in common."""
        return tuple(it.name for it in self.calls)


def sources_among(runs: Sequence[RecordedRun]) -> tuple[RecordedRun, ...]:
    """Return the runs that a routine is compiled from, in an order of their own: the newest that are not too much to compare.

    Ids rise with time, so the newest are those with the highest. The order that the runs come in changes nothing. Raises
    `NotCanonical`.
    """
    return tuple(_light(sorted(runs, key=_place, reverse=True)[:MOST_SOURCES]))


def _place(run: RecordedRun) -> tuple[str, str]:
    return run.id, run.task


def _light(runs: Sequence[RecordedRun]) -> Iterator[RecordedRun]:
    left = MOST_WEIGHT
    for number, run in enumerate(runs):
        left -= _weight(run)
        if left < 0 and number >= LEAST_SOURCES:
            return
        yield run


def _weight(run: RecordedRun) -> int:
    """An output that is no text is only looked into where a value may come from."""
    texts = (len(it.output) for it in run.calls if isinstance(it.output, str))
    return sum(texts) + sum(len(canonical(it.args)) for it in run.calls)
