"""The runs that a routine is compiled from: the newest of a group, read and judged once more when they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from events.reading import one_moment
from routines.recorded import RecordedCall, RecordedRun
from routines.scan import MOST_EVENTS, pattern_in, why_not
from routines.sightings import Group
from runs.models import Run
from runs.recorded import Recorded, Ref, read_recorded

AT_ONCE = 20
# Of all that is in memory at once for one group. So many are read however much they hold: each is bounded by itself.
MOST_SIZE = 32 << 20
LEAST = 3


def sources_of(agent_key: str, group: Group) -> list[RecordedRun]:
    """Return what was recorded of the runs of a group, the newest first, as far as it may still be relied on, is of the pattern
    still, and is not too much together."""
    found: list[RecordedRun] = []
    size = 0
    for first in range(0, len(group.runs), AT_ONCE):
        for it in _read(group.runs[first : first + AT_ONCE]):
            if why_not(it) or pattern_in(agent_key, it) != group.pattern:
                continue
            size += it.size
            if size > MOST_SIZE and len(found) >= LEAST:
                return found
            found.append(run_of(it))
    return found


def run_of(recorded: Recorded) -> RecordedRun:
    """Return a run as routines are compiled from it, and compared with."""
    return RecordedRun(
        id=str(recorded.run_id),
        task=str(recorded.started["task"]),
        calls=tuple(
            RecordedCall(server=it.server, tool=it.tool, args=it.args, output=it.result)
            for it in recorded.calls
        ),
    )


def _read(runs: Sequence[UUID]) -> Iterator[Recorded]:
    """Yield what can be used of these, in their order."""
    chains = dict(Run.objects.filter(id__in=runs).values_list("id", "correlation_id"))
    with one_moment():
        refs = [Ref(it, chains[it]) for it in runs if it in chains]
        found = {
            it.run_id: it
            for it in read_recorded(refs, most_events=MOST_EVENTS)
            if isinstance(it, Recorded)
        }
    return (found[it] for it in runs if it in found)
