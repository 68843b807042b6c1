"""Whatever was done to a pack is said in one line: cut, doubled, reordered, edited, another's."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import orjson
import pytest

from events.pack import run_subject, write_pack
from events.signing import signing_key
from events.verify_pack import Pins, Refused, check
from liyagent.core.canonical import canonical
from tests.unit.events.seals.chains import new_chain

Lines = list[bytes]
MADE: Lines = []


@pytest.fixture
def pack(request: pytest.FixtureRequest) -> Lines:
    """A pack of a run with five events, made once."""
    if not MADE:
        request.getfixturevalue("fresh_db")
        chain, out = new_chain(5), BytesIO()
        write_pack(run_subject(chain, chain), out)
        MADE.extend(out.getvalue().splitlines(keepends=True))
    return MADE


def dropped(at: int) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:at], *lines[at + 1 :]]


def doubled(at: int) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[: at + 1], *lines[at:]]


def edited(at: int, *path: Any, to: Any) -> Callable[[Lines], Lines]:
    def edit(value: Any) -> None:
        for name in path[:-1]:
            value = value[name]
        value[path[-1]] = to

    def edited_lines(lines: Lines) -> Lines:
        value = orjson.loads(lines[at])
        edit(value)
        return [*lines[:at], canonical(value) + b"\n", *lines[at + 1 :]]

    return edited_lines


# Lines of `a_pack`: 0 what it is about, 1 root, 2 chain, 3 to 7 events, 8 end.
EDITS: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "nothing": (lambda lines: [], "nothing in it"),
    "cut behind an event": (lambda lines: lines[:5], "cut off in the chain"),
    "cut in a line": (lambda lines: [*lines[:5], lines[5][:20]], "cut off in the middle"),
    "cut of its end": (lambda lines: lines[:-1], "cut off in the chain"),
    "an event dropped": (dropped(4), "is missing"),
    "the last event dropped": (dropped(7), "cut off: it ends with 4 of 5"),
    "an event doubled": (doubled(4), "stands twice or out of order"),
    "two events swapped": (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], "is missing"),
    "an event edited": (edited(4, "event", 6, to="{}"), "event 2 of the chain"),
    "an event's kind edited": (edited(4, "event", 3, to="gap"), "event 2 of the chain"),
    "the pack doubled": (lambda lines: lines * 2, "doubled"),
    "a chain doubled": (lambda lines: [*lines[:8], *lines[2:]], "stands twice"),
    "no chain": (lambda lines: [*lines[:2], lines[8]], "some are missing"),
    "blanks put in": (lambda lines: [lines[0].replace(b":", b": ", 1), *lines[1:]], "not as it was written"),
    "no JSON": (lambda lines: [b"\xff\xfe\n", *lines[1:]], "no JSON"),
    "nested deeply": (lambda lines: [b"[" * 200_000 + b"\n"], "nested too deeply"),
    "a huge number": (lambda lines: [b"1" * 10_000 + b"\n"], "no JSON"),
    "another run": (edited(0, "about", "run", to="0190f5fe-7c00-7a00-8000-000000000001"), "nothing of the run"),
    "another database": (
        edited(0, "database", to="0190f5fe-7c00-7a00-8000-000000000001"), "another database",
    ),
    "more chains told": (edited(0, "without_events", to=3), "changed after it was signed"),
    "an older number of events": (edited(2, "chain", "count", to=4), "does not stand so under the root"),
    "another leaf": (edited(2, "chain", "index", to=1), "no place in a batch"),
    "another batch": (edited(2, "chain", "batch", to=2), "no place in a batch"),
    "a root edited": (edited(1, "root", "statement", "totals", "events", to=9), "changed after it was signed"),
    "a root's log": (edited(1, "root", "statement", "log", to="0" * 64), "does not stand so under the root"),
    "a boolean for a number": (edited(2, "chain", "index", to=False), "not its form"),
    "another signature": (edited(8, "end", "signature", to="0" * 128), "does not hold"),
    "another signer": (edited(8, "end", "public", to="0" * 64), "another key"),
}  # fmt: skip


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize("name", EDITS)
def test_whatever_was_done_to_a_pack_is_said_in_one_line(name: str, pack: Lines) -> None:
    edit, told = EDITS[name]
    pins = Pins(frozenset({signing_key().public}))
    assert check(iter(pack), pins).events == 5
    with pytest.raises(Refused) as refused:
        check(iter(edit(list(pack))), pins)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
