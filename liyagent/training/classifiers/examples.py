"""Labelled examples: as they are given, or as past runs tell them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from liyagent.training.classifiers.bayes import Example
from liyagent.training.classifiers.errors import ExamplesInvalid
from runs.models import Run
from runs.transcript import task_of

FEWEST, FEWEST_A_LABEL, MOST = 10, 2, 20_000
LONGEST_TEXT, LONGEST_LABEL = 20_000, 80
MOST_LABELS = 100
TOGETHER = 200


def checked(given: Any) -> list[Example]:
    """Return examples from a list of `{"text", "label"}`. Raises `ExamplesInvalid` that names the first that is wrong."""
    if not isinstance(given, list) or len(given) > MOST:
        raise ExamplesInvalid(f"examples wants a list of at most {MOST} objects with text and label")  # fmt: skip
    found = []
    for index, it in enumerate(given):
        is_whole = isinstance(it, dict) and set(it) == {"text", "label"}
        if not is_whole or not all(isinstance(value, str) and value.strip() for value in it.values()):  # fmt: skip
            raise ExamplesInvalid(f"examples[{index}] wants text and label, both texts, and nothing else")  # fmt: skip
        if len(it["text"]) > LONGEST_TEXT or len(it["label"]) > LONGEST_LABEL:
            raise ExamplesInvalid(f"examples[{index}] is too long: text may have {LONGEST_TEXT} characters, label {LONGEST_LABEL}")  # fmt: skip
        found.append((it["text"], it["label"].strip()))
    why = unfit(found)
    if why:
        raise ExamplesInvalid(why)
    return found


def unfit(examples: Sequence[Example]) -> str:
    """Say why nothing can be learned of examples, empty where something can."""
    labels = Counter(label for _, label in examples)
    if len(examples) < FEWEST:
        return f"it takes {FEWEST} examples at least, and there are {len(examples)}"
    if not 2 <= len(labels) <= MOST_LABELS:
        return f"it takes 2 to {MOST_LABELS} labels, and there are {len(labels)}"
    rare = [label for label, count in labels.items() if count < FEWEST_A_LABEL]
    return (
        f"each label wants {FEWEST_A_LABEL} examples at least; {rare[0]!r} has one" if rare else ""
    )


def from_runs(
    *, since: datetime, until: datetime, agents: Sequence[str]
) -> Iterator[list[Example]]:
    """Yield tasks of runs with the key of their agent as the label, some at a time; where the task is not kept it is left out.

    Only root runs tell what somebody asked; of each period the newest 20,000 are looked at.
    """
    rows = Run.objects.filter(created_at__gte=since, created_at__lt=until, parent_id=None, recording="full")  # fmt: skip
    if agents:
        rows = rows.filter(agent_key__in=agents)
    ids = list(rows.order_by("-created_at", "-id").values_list("id", flat=True)[:MOST])
    for first in range(0, len(ids), TOGETHER):
        runs = Run.objects.filter(id__in=ids[first : first + TOGETHER]).defer("seal").order_by("id")
        yield [(task[:LONGEST_TEXT], run.agent_key) for run in runs if (task := task_of(run)).strip()]  # fmt: skip
