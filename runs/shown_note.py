"""What a run's page shows of an event that is neither a model step nor a call: a title, a tone, and its facts in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from events.content import some_text, whole_number
from events.kinds import KINDS
from events.words import without_words
from liyagent.core.pills import BAD, GOOD, QUIET, WARN
from liyagent.core.tables import visible
from runs.models import RunStatus
from runs.shown_words import shown_words
from runs.told_events import Told
from runs.wording import EVENTS, fact_in_words, fact_named

# Beside its title: an icon of the theme, and how much it matters. Of any other kind nothing is wrong.
LOOKS: Mapping[str, tuple[str, str]] = {
    "run.started": ("play_arrow", QUIET),
    "run.resumed": ("sync_problem", WARN),
    "run.handed_over": ("swap_horiz", QUIET),
    "run.ended": ("flag", QUIET),
    "agent.guardrail": ("shield", WARN),
    "gap": ("report", BAD),
    "retry": ("replay", WARN),
    "approval.requested": ("front_hand", WARN),
    "approval.decided": ("how_to_reg", QUIET),
    "call.settled": ("how_to_reg", QUIET),
}
OTHER = ("info", QUIET)
# Said in the title already, or of no use to a person.
NOT_SHOWN = frozenset({"withheld", "missing", "status"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """One event of a run beside its steps and calls."""

    form: ClassVar[str] = "note"
    number: int
    at: datetime
    kind: str
    title: str
    icon: str
    tone: str
    facts: Mapping[str, str]


def note_of(told: Told, *, with_words: bool) -> ShownNote:
    """Return an event as a note, words only where they may be read. Total, whatever is stored."""
    content = told.content if with_words else without_words(told.content)
    icon, tone = LOOKS.get(told.kind, OTHER)
    return ShownNote(
        number=told.number,
        at=told.at,
        kind=visible(told.kind),
        title=title_of(told.kind, content),
        icon=icon,
        tone=_tone_of_end(content) if told.kind == "run.ended" else tone,
        facts={
            visible(fact_named(told.kind, name)): shown_words(fact_in_words(name, value))
            for name, value in _in_order(told.kind, content)
            if name not in NOT_SHOWN and value not in ("", None)
        },
    )


def title_of(kind: str, content: Mapping[str, Any]) -> str:
    """Return what an event is called on the page of its run, with how it ended or what is missing. Total."""
    title = EVENTS.get(kind) or _first_words(kind)
    if kind == "run.ended":
        return f"{title}: {visible(some_text(content.get('status'))) or 'it is not told how'}"
    if kind == "gap":
        missing = whole_number(content.get("missing"))
        return f"{title}: {missing} event{'' if missing == 1 else 's'}, never written because the database refused them"
    if kind == "run.resumed":
        return f"{title}, the {_ordinal(whole_number(content.get('losses')))}"
    return title


def _in_order(kind: str, content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Its facts as the table of kinds has them: what matters first. What it does not know comes last."""
    known = KINDS.get(kind)
    names = [*known.fields, *known.may_have] if known else []
    ordered = [name for name in names if name in content]
    return [(name, content[name]) for name in (*ordered, *sorted(content.keys() - set(ordered)))]


def _first_words(kind: str) -> str:
    known = KINDS.get(kind)
    if known is None:
        return f"{visible(kind)}: a kind of event that this release does not know"
    return f"{known.tells[:1].upper()}{known.tells[1:]}".partition(";")[0]


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in {11, 12, 13} else 0)
    return f"{number}{ending or 'th'}"


def _tone_of_end(content: Mapping[str, Any]) -> str:
    match content.get("status"):
        case RunStatus.ANSWERED:
            return GOOD
        case RunStatus.FAILED:
            return BAD
        case _:
            return WARN
