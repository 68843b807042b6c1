"""What a run's page shows of an event that is neither a model step nor a call: a title, a tone, and its facts in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.urls import reverse

from events.content import some_text, whole_number
from events.kinds import KINDS
from events.words import without_words
from liyagent.core.pills import BAD, GOOD, QUIET, WARN
from liyagent.core.tables import visible
from runs.handed import READ, WRITTEN
from runs.models import RunStatus
from runs.shown_words import shown_words
from runs.told_events import Told
from runs.wording import CAME, EVENTS, fact_in_words, fact_named, in_words

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
    "workflow.started": ("account_tree", QUIET),
    "workflow.step": ("check", QUIET),
    "workflow.waiting": ("hourglass_empty", QUIET),
    "workflow.ended": ("account_tree", QUIET),
    "saga.registered": ("undo", QUIET),
    "saga.compensating": ("undo", WARN),
    "saga.undone": ("undo", QUIET),
    "saga.ended": ("undo", QUIET),
    "saga.handoff": ("support_agent", WARN),
    "handoff": ("forward_to_inbox", QUIET),
}
# How much it matters what these came to.
TONES: Mapping[str, str] = {
    "failed": BAD,
    "unknown": BAD,
    "missing": BAD,
    "refused": WARN,
    "held": WARN,
}
OTHER = ("info", QUIET)
CAME_TO = frozenset({"workflow.step", "workflow.ended", "saga.undone"})
# Said in the title already, or of no use to a person.
NOT_SHOWN = frozenset({"withheld", "missing", "status"})
IN_TITLE: Mapping[str, frozenset[str]] = {
    "workflow.step": frozenset({"name", "fate"}),
    "workflow.waiting": frozenset({"name"}),
    "workflow.ended": frozenset({"fate"}),
    "saga.undone": frozenset({"fate", "order"}),
    "saga.registered": frozenset({"withheld"}),
    "handoff": frozenset({"version", "direction"}),
}
# By whether a version was written, and as the how-manieth.
HANDED: Mapping[tuple[str, bool], str] = {
    (WRITTEN, True): "It handed this over",
    (WRITTEN, False): "It handed this over anew",
    (READ, True): "It read what it was handed",
    (READ, False): "It read what came back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """One event of a run beside its steps and calls; `leads_to` is the page that shows what it tells of, "" for none."""

    form: ClassVar[str] = "note"
    number: int
    at: datetime
    kind: str
    title: str
    icon: str
    tone: str
    facts: Mapping[str, str]
    leads_to: str = ""


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
        tone=_tone(told.kind, content, tone),
        facts={
            visible(fact_named(told.kind, name)): shown_words(fact_in_words(name, value))
            for name, value in _in_order(told.kind, content)
            if name not in IN_TITLE.get(told.kind, NOT_SHOWN) and value not in ("", None)
        },
        leads_to=_thread_page(content) if told.kind == "handoff" else "",
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
    if kind in {"workflow.step", "workflow.waiting"}:
        name = visible(some_text(content.get("name")))
        came = (
            "waits"
            if kind == "workflow.waiting"
            else in_words(CAME, some_text(content.get("fate")))
        )
        return f"{title} {name}: {visible(came)}"
    if kind == "workflow.ended":
        return f"{title}: {visible(in_words(CAME, some_text(content.get('fate'))))}"
    if kind == "saga.undone":
        came = visible(in_words(CAME, some_text(content.get("fate"))))
        return f"{title} {whole_number(content.get('order'))}: {came}"
    if kind == "handoff":
        number = whole_number(content.get("version"))
        told = HANDED.get((some_text(content.get("direction")), number <= 1), title)
        return f"{told}: version {number} of a thread"
    if kind == "saga.registered" and content.get("missing"):
        return f"{title}, and cannot be made: its arguments are missing"
    return title


def _thread_page(content: Mapping[str, Any]) -> str:
    try:
        thread = UUID(some_text(content.get("thread")))
    except ValueError:
        return ""
    return reverse("admin:handoffs_version_change", args=[thread])


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


def _tone(kind: str, content: Mapping[str, Any], usual: str) -> str:
    if kind == "run.ended":
        return _tone_of_end(content)
    if kind == "saga.registered":
        return BAD if content.get("missing") else usual
    if kind in CAME_TO:
        return TONES.get(some_text(content.get("fate")), usual)
    return usual


def _tone_of_end(content: Mapping[str, Any]) -> str:
    match content.get("status"):
        case RunStatus.ANSWERED:
            return GOOD
        case RunStatus.FAILED:
            return BAD
        case _:
            return WARN
