"""Settlements, findings and causes in the words of a page."""

from __future__ import annotations

from collections.abc import Mapping

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
}
FINDINGS: Mapping[str, str] = {
    "found": "found at the vendor: it happened",
    "not_found": "not found: it may still have happened",
    "no_reader": "its tool cannot be read back",
}
CAUSES: Mapping[str, str] = {
    "proof": "proven dead by a neighbour on the same host",
    "hint": "its life-lock was free and its lease had passed",
    "lapse": "its lease lapsed",
    "error": "an unexpected error ended the attempt",
    "thread": "the thread that carried it was gone",
}


def in_words(known: Mapping[str, str], value: str) -> str:
    """Return what a stored word means; one that is not known as it is."""
    return known.get(value, value.replace("_", " "))
