"""Which runs are replayed: the ones that are named, or the agent's most recent ones (RP-01)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from liyagent.agents.models import Recording
from liyagent.replays.errors import ReplayInvalid
from runs.models import ENDED, ROOT_LOOP, Run

MOST_RUNS, RUNS = 50, 20
# Of an agent whose newest runs kept no words, so many are looked through, and so many of those are told.
MOST_LOOKED_THROUGH, MOST_TOLD = 1000, 50
METADATA = "it was recorded as metadata: its words are not kept"
FACTS = (
    "id", "agent_key", "parent_id", "loop", "workflow", "recording", "status", "model_steps", "input_tokens", "output_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The runs, in the order they are begun in, and what was passed over with the reason."""

    runs: Sequence[dict[str, Any]]
    skipped: Sequence[dict[str, str]] = ()

    @property
    def ids(self) -> list[str]:
        """The ids of the runs."""
        return [str(it["id"]) for it in self.runs]


def cohort_of(agent_key: str, *, runs: Sequence[str] | None, limit: int | None) -> Cohort:
    """Return the runs that are named, else the `limit` most recent ones of the agent that ended and kept their words.

    Whether a record verifies shows when it is read, run by run. Raises `ReplayInvalid` with the path of what is wrong.
    """
    if runs is not None and limit is not None:
        raise ReplayInvalid({"limit": "does not go with runs: name the runs, or say how many"})
    if runs is not None:
        return _named(agent_key, runs)
    wanted = RUNS if limit is None else limit
    if type(wanted) is not int or not 1 <= wanted <= MOST_RUNS:
        raise ReplayInvalid({"limit": f"wants a whole number from 1 to {MOST_RUNS}"})
    return _recent(agent_key, wanted)


def _named(agent_key: str, runs: Sequence[str]) -> Cohort:
    if not 1 <= len(runs) <= MOST_RUNS:
        raise ReplayInvalid({"runs": f"has {len(runs)}; it wants the ids of 1 to {MOST_RUNS} runs"})
    problems: dict[str, str] = {}
    ids: dict[UUID, int] = {}
    for index, text in enumerate(runs):
        try:
            run_id = UUID(text)
        except (ValueError, AttributeError, TypeError):
            problems[f"runs[{index}]"] = f"is {str(text)[:80]!r}; it wants the id of a run"
            continue
        if run_id in ids:
            problems[f"runs[{index}]"] = f"is run {run_id} again, as runs[{ids[run_id]}]"
        ids.setdefault(run_id, index)
    found = {it["id"]: it for it in Run.objects.filter(id__in=ids).values(*FACTS)}
    for run_id, index in ids.items():
        if run_id not in found:
            problems[f"runs[{index}]"] = f"is {run_id}; there is no such run"
        elif found[run_id]["agent_key"] != agent_key:
            problems[f"runs[{index}]"] = (
                f"is {run_id}, a run of agent {found[run_id]['agent_key']}, not of {agent_key}"
            )
    if problems:
        raise ReplayInvalid(problems)
    return Cohort(runs=[found[it] for it in ids])


def _recent(agent_key: str, wanted: int) -> Cohort:
    """One bounded look by the index of an agent's runs, compared here: no condition can lead the database to another way."""
    newest = Run.objects.filter(agent_key=agent_key).order_by("-created_at", "-id")
    chosen: list[dict[str, Any]] = []
    passed: list[dict[str, str]] = []
    for row in newest.values(*FACTS)[:MOST_LOOKED_THROUGH]:
        if row["status"] not in ENDED or row["loop"] != ROOT_LOOP or row["parent_id"] is not None or row["workflow"]:  # fmt: skip
            continue
        if row["recording"] == Recording.FULL:
            chosen.append(row)
        elif len(passed) < MOST_TOLD:
            passed.append({"run": str(row["id"]), "reason": METADATA})
        if len(chosen) == wanted:
            break
    return Cohort(runs=chosen, skipped=passed)
