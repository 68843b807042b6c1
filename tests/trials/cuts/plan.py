"""Which cuts are made of a recorded course: all of them, a sample that its seed repeats, or few with the real clocks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from enum import StrEnum

from tests.trials.cuts.course import Cut, Fault, Message, Moment

MARKS = frozenset({"liyagent_mark", "liyagent_hold", "liyagent_reserve", "liyagent_delegate"})
SETTLE, TOOL_CALL = "liyagent_settle", "tools/call"
# Of a sample: one in four of the messages that change nothing, and so many cuts that freeze or disconnect.
SHARE_OF_OTHERS = 0.25
MOST_IN_DOUBT = 2
# Of a way in, in a sample: all that its run does is cut in the other kinds already.
MOST_OF_A_WAY = 4
# Of a workflow or a saga, in a sample: so many kills anywhere, one between mark and settle of each of its last calls (of a saga
# its undos), and one as it is handed off.
MOST_OF_A_LONG, DOUBTS_OF_A_LONG = 4, 3
HANDING_OFF = ("insert approvals_approval", "update sagas_saga")
# What a long course has the same number of each time it is played: what a process does beside its runs it does by the clock, and
# how often who waits for several is woken for one of them too.
STEADY = tuple(f"liyagent_{it}" for it in ("step", "mark", "settle", "finish", "fork", "undo_told"))
# What changes something by its verb; what a delivery is between its claim and its settle.
CHANGING = ("insert ", "update ", "commit", "connector p", "receiver p")
DELIVERING = ("update entry_delivery", "update teams_teamsturn", "connector p", "receiver p")
MOMENTS = tuple(Moment)


class Size(StrEnum):
    """How many cuts: every one, one moment of each message that can change something, or a few that take long."""

    ALL = "all"
    SAMPLE = "sample"
    REAL = "real clocks"


def planned(
    course: Sequence[Message],
    *,
    size: Size,
    seed: int,
    is_of_way: bool = False,
    is_long: bool = False,
) -> list[Cut]:
    """Return the cuts of a course in their order; the same for the same course, size and seed."""
    doubted = each_in_doubt(course) if is_long else numbers_in_doubt(course)
    if size is Size.ALL:
        kills = every_kill(course)
        if is_long:
            # What changes nothing is read anew by each of its runs.
            kills = [it for it in kills if changes(it.message) or _is_turn(it)]
        return [*kills, *_in_doubt(course, doubted, MOMENTS)]
    chance = random.Random(f"{seed} {course}")
    turn = chance.randrange(len(MOMENTS))
    rotated = [
        _cut(number, message, MOMENTS[(number + turn) % len(MOMENTS)], Fault.KILL)
        for number, message in enumerate(course, start=1)
    ]
    if is_of_way and size is Size.SAMPLE:
        wanted = [it for it in rotated if changes(it.message)]
        return sorted(chance.sample(wanted, min(MOST_OF_A_WAY, len(wanted))), key=_order)
    doubtful = _in_doubt(course, doubted, MOMENTS)
    if is_long:
        doubtful = [it for it in doubtful if _is_steady(it)]
    few = sorted(chance.sample(doubtful, min(MOST_IN_DOUBT, len(doubtful))), key=_order)
    if is_long and size is Size.SAMPLE:
        return [*_of_long(course, rotated, chance), *few]
    if size is Size.SAMPLE:
        kept = [it for it in rotated if changes(it.message) or chance.random() < SHARE_OF_OTHERS]
    else:
        kept = [it for it in rotated if changes(it.message) and it.number in doubted]
    return [*kept, *few]


def changes(message: Message) -> bool:
    """Whether a message can change something: a hot statement, a commit, a call of a tool, or what is handed on."""
    return message.name.startswith(("liyagent_", *CHANGING)) or TOOL_CALL in message.name


def every_kill(course: Sequence[Message]) -> list[Cut]:
    """Return a kill at each moment of each message."""
    return [
        _cut(number, message, moment, Fault.KILL)
        for number, message in enumerate(course, start=1)
        for moment in MOMENTS
    ]


def span_in_doubt(course: Sequence[Message]) -> range:
    """Return the numbers from the first mark to the last settle; none where nothing is marked."""
    marks = [number for number, it in enumerate(course, start=1) if it.name in MARKS]
    settles = [number for number, it in enumerate(course, start=1) if it.name == SETTLE]
    return range(marks[0], settles[-1] + 1) if marks and settles else range(0)


def numbers_in_doubt(course: Sequence[Message]) -> list[int]:
    """Return the numbers of that span, and of what a delivery is from its claim to its settle."""
    return [
        number
        for number, it in enumerate(course, start=1)
        if number in span_in_doubt(course) or it.name.startswith(DELIVERING)
    ]


def _is_turn(cut: Cut) -> bool:
    """Whether it is the one moment of three that is this message's turn."""
    return cut.moment is MOMENTS[cut.number % len(MOMENTS)]


def spans_of_marks(course: Sequence[Message]) -> list[range]:
    """Return the numbers from each mark to its own settle."""
    spans, begun = [], 0
    for number, it in enumerate(course, start=1):
        if it.name in MARKS:
            begun = number
        elif it.name == SETTLE and begun:
            spans.append(range(begun, number + 1))
            begun = 0
    return spans


def each_in_doubt(course: Sequence[Message]) -> list[int]:
    """Return those numbers, and of what is handed off: where many calls are made, not what lies between them."""
    doubted = {number for span in spans_of_marks(course) for number in span}
    handing = [n for n, it in enumerate(course, start=1) if it.name.startswith(HANDING_OFF)]
    return sorted({*doubted, *handing})


def _of_long(course: Sequence[Message], rotated: Sequence[Cut], chance: random.Random) -> list[Cut]:
    """Some of the kills; and those between mark and settle of its undos, which are its last marks (FL-63)."""
    steady = [it for it in rotated if _is_steady(it)]
    wanted = [it for it in steady if not it.message.name.startswith(HANDING_OFF)]
    groups = [set(span) for span in spans_of_marks(course)[-DOUBTS_OF_A_LONG:]]
    groups.append({it.number for it in rotated if it.message.name.startswith(HANDING_OFF)})
    chosen = chance.sample(wanted, min(MOST_OF_A_LONG, len(wanted)))
    for group in groups:
        of_group = [it for it in steady if it.number in group]
        chosen += chance.sample(of_group, min(1, len(of_group)))
    return sorted(set(chosen), key=_order)


def _is_steady(cut: Cut) -> bool:
    """Whether its message is met each time that a long course is played."""
    return cut.message.name.startswith((*STEADY, *HANDING_OFF)) or TOOL_CALL in cut.message.name


def _in_doubt(
    course: Sequence[Message], doubted: Iterable[int], moments: Iterable[Moment]
) -> list[Cut]:
    """From a mark to its settle the process is frozen and disconnected, too; so while it hands on."""
    return [
        _cut(number, course[number - 1], moment, fault)
        for fault in (Fault.FREEZE, Fault.DISCONNECT)
        for number in doubted
        for moment in moments
    ]


def _cut(number: int, message: Message, moment: Moment, fault: Fault) -> Cut:
    return Cut(number=number, message=message, moment=moment, fault=fault)


def _order(cut: Cut) -> tuple[str, int]:
    return cut.fault, cut.number
