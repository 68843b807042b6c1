"""What is stored of sagas and undos in the words of a page, each with its colour."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.pills import BAD, GOOD, QUIET, WARN

STATUSES: Mapping[str, tuple[str, str]] = {
    "open": ("its run goes on", QUIET),
    "compensating": ("being undone", WARN),
    "compensated": ("all undone", GOOD),
    "partial": ("not all undone", BAD),
    "handed_off": ("given to a person, nothing undone", WARN),
    "closed": ("closed", QUIET),
}
FATES: Mapping[str, tuple[str, str]] = {
    "owed": ("not undone yet", WARN),
    "done": ("undone", GOOD),
    "held": ("waits for approval", WARN),
    "failed": ("could not be undone", BAD),
    "unknown": ("undone or not: nobody knows", BAD),
    "missing": ("cannot be undone by itself", BAD),
}
# In a list, behind a number.
SHORT: Mapping[str, str] = {
    "owed": "owed",
    "done": "undone",
    "held": "held",
    "failed": "failed",
    "unknown": "unknown",
    "missing": "cannot be undone",
}
CAUSES: Mapping[str, str] = {
    "failed": "it failed",
    "stopped": "a person stopped it",
    "rejected": "a person said no",
    "cap": "it met a cap",
}
# How many undos came to each, in a sentence: one of them, more of them.
COUNTED: Mapping[str, tuple[str, str]] = {
    "done": ("is undone", "are undone"),
    "held": ("is held for approval", "are held for approval"),
    "failed": ("could not be undone", "could not be undone"),
    "unknown": ("may be undone or not, nobody knows", "may be undone or not, nobody knows"),
    "missing": ("cannot be undone by itself", "cannot be undone by themselves"),
    "owed": ("is not undone yet", "are not undone yet"),
}
