"""What is stored of runs, calls and events in the words of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SETTLEMENTS: Mapping[str, str] = {
    "answered": "by the server's answer",
    "kept": "its outcome was stored already",
    "routed": "through every gate again",
    "routed_to_its_approval": "back to its approval",
    "asked_by_delegation_key": "asked for by its delegation key",
    "sent_with_same_key": "sent again with the same key",
    "read_back": "looked for at the vendor",
    "told_unknown": "not sent again; the model was told it is unknown",
    "run_ended": "the run ended before it was settled",
    "by_person": "a person looked, and said what happened",
}
FINDINGS: Mapping[str, str] = {
    "found": "found at the vendor: it happened",
    "not_found": "not found: it may still have happened",
    "no_reader": "its tool cannot be read back",
    "not_asked": "its vendor could not be asked for a day",
}
CAUSES: Mapping[str, str] = {
    "proof": "proven dead by a neighbour on the same host",
    "hint": "its life-lock was free and its lease had passed",
    "lapse": "its lease lapsed",
    "error": "an unexpected error ended the attempt",
    "thread": "the thread that carried it was gone",
}

INTENTS: Mapping[str, str] = {
    "sending": "about to be sent",
    "held": "held for a person",
}
EVENTS: Mapping[str, str] = {
    "run.started": "Started",
    "run.resumed": "Taken over after a loss",
    "run.handed_over": "Handed over by a process that stops",
    "run.ended": "Ended",
    "agent.guardrail": "A guardrail acted",
    "gap": "Events are missing here",
    "step": "A model step",
    "tool.call": "A call",
    "approval.requested": "A call waits for a person",
    "approval.decided": "A person decided about a call",
    "call.settled": "A person said what happened to a call",
    "retry": "A step is tried again",
    "workflow.started": "The workflow began",
    "workflow.step": "Step",
    "workflow.waiting": "Step",
    "workflow.ended": "The workflow ended",
    "saga.registered": "An undo is owed for a write",
    "saga.compensating": "What was done is being undone",
    "saga.undone": "Undo",
    "saga.ended": "All that was owed was tried",
    "saga.handoff": "It was put before a person",
    "handoff": "Handed over",
}
# What these came to, where it is told in a title.
CAME: Mapping[str, str] = {
    "done": "done",
    "failed": "failed",
    "refused": "refused",
    "unknown": "nobody knows whether it took effect",
    "held": "held for a person",
    "skipped": "skipped",
}
FACTS: Mapping[str, str] = {
    "cause": "how the death was seen",
    "losses": "losses so far",
    "holder": "process",
    "unsettled": "calls not settled",
    "entry": "came in by",
    "error": "code",
    "cost_micros": "cost, in millionths",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "withheld": "not shown to you",
    "approval": "request",
    "by": "by whom",
    "digest": "digest of what is asked for",
    "ceiling": "digest of the most it may use",
    "run_as": "runs as",
    "waits_for": "waits for",
    "undo": "undone by",
    "handoff": "as",
    "name": "step",
    "registered": "undos",
}


def in_words(known: Mapping[str, str], value: str) -> str:
    """Return what a stored word means; one that is not known as it is."""
    return known.get(value, value.replace("_", " "))


def fact_named(kind: str, name: str) -> str:
    """Return what a fact of an event is called."""
    if name == "calls" and kind == "run.resumed":
        return "calls that were left"
    if name == "digest" and kind == "handoff":
        return "digest of what was handed over"
    return in_words(FACTS, name)


def fact_in_words(name: str, value: Any) -> Any:
    """Return a fact of an event with its stored words told; what holds none as it is.

    Calls that a dead process left are told a line each, how they were settled beside them.
    """
    if name == "cause" and isinstance(value, str):
        return in_words(CAUSES, value)
    if name == "calls" and isinstance(value, list):
        lines = [_left_call(it) for it in value if isinstance(it, Mapping)]
        return "\n".join(lines) if len(lines) == len(value) and lines else value or "none"
    if name == "unsettled" and not value:
        return "none"
    return "-" if value in ("", None) else value


def _left_call(call: Mapping[str, Any]) -> str:
    settlement = str(call.get("settlement") or "")
    return f"{call.get('call')}: {in_words(SETTLEMENTS, settlement) or '-'}"
