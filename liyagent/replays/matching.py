"""Which recorded call answers a call of a replay: the very same one, else the next unused one of that tool (RP-03). Pure.

Same is what has the same canonical form (RFC 8785): order of keys, spaces, and 5 or 5.0 make no difference. Null and absent
do, and so do two ways to write one moment. No recorded call answers twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from liyagent.core.canonical import NotCanonical, canonical
from liyagent.replays.made import How
from liyagent.replays.recorded import RecordedCall

REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The recorded call that answers, and why it is that one."""

    recorded: RecordedCall
    how: How


class Matcher:
    """Gives out each recorded call once."""

    def __init__(self, recorded: Sequence[RecordedCall], *, strict: bool) -> None:
        """With `strict` nothing but the very same call answers."""
        self._recorded = list(recorded)
        self._strict = strict
        self._used: set[int] = set()
        self._same: dict[tuple[str, str, bytes], deque[int]] = {}
        self._of_tool: dict[tuple[str, str], deque[int]] = {}
        for place, it in enumerate(self._recorded):
            self._of_tool.setdefault((it.server, it.tool), deque()).append(place)
            form = _form(it.args)
            if form is not None:
                self._same.setdefault((it.server, it.tool, form), deque()).append(place)

    def serve(self, server: str, tool: str, args: dict[str, Any]) -> Served | None:
        """Return the recorded call that answers this one, used up by it; None where the record has none."""
        form = _form(args)
        same = self._same.get((server, tool, form)) if form is not None else None
        if (place := self._next(same)) is not None:
            return self._taken(place, How.EXACT)
        if self._strict or (place := self._next(self._of_tool.get((server, tool)))) is None:
            return None
        return self._taken(place, How.BY_ORDER)

    def refused(self, server: str, tool: str, args: dict[str, Any]) -> RecordedCall | None:
        """Return the very same call where it was refused then as well, used up by it; else None, and nothing is used up."""
        form = _form(args)
        places = self._same.get((server, tool, form), ()) if form is not None else ()
        for place in places:
            if place not in self._used and self._recorded[place].fate == REFUSED:
                return self._taken(place, How.REFUSED).recorded
        return None

    @property
    def unused(self) -> list[RecordedCall]:
        """The recorded calls that answered nothing."""
        return [it for place, it in enumerate(self._recorded) if place not in self._used]

    def _next(self, places: deque[int] | None) -> int | None:
        while places:
            place = places[0]
            if place not in self._used:
                return place
            places.popleft()
        return None

    def _taken(self, place: int, how: How) -> Served:
        self._used.add(place)
        return Served(recorded=self._recorded[place], how=how)


def _form(args: Any) -> bytes | None:
    try:
        return canonical(args)
    except NotCanonical:
        return None
