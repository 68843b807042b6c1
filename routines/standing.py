"""How an adopted routine does: its runs since, how often the agent was asked after all, and what they saved (RT-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from routines.models import Routine

# Of so many of its newest runs since it was adopted.
MOST_RUNS = 1_000
# Children are found in their family: no index leads from a parent to them. Those that undo, make what was approved or file a
# ticket asked no model. What a person was waited for is no time that a run took; nor is it comparable with the runs before, none of which waited.
RUNS = """
SELECT t.status, t.ended_at IS NOT NULL, EXISTS (
        SELECT FROM runs_run c WHERE c.correlation_id = t.correlation_id AND c.parent_id = t.id
            AND c.agent_key = t.agent_key AND c.workflow = '' AND c.loop NOT LIKE 'undo:%%' AND c.loop NOT LIKE 'approved:%%'
            AND c.loop <> 'handoff'),
    CASE WHEN EXISTS (SELECT FROM approvals_approval a WHERE a.run_id = t.id) THEN NULL
        ELSE extract(epoch FROM t.ended_at - COALESCE(t.taken_at, t.created_at))::float8 END,
    (SELECT sum(f.input_tokens + f.output_tokens)::bigint FROM runs_run f WHERE f.correlation_id = t.correlation_id)
    FROM (SELECT id, status, agent_key, correlation_id, created_at, taken_at, ended_at FROM runs_run
        WHERE workflow = %s AND loop = 'root' AND created_at >= %s ORDER BY created_at DESC, id DESC LIMIT %s) AS t
"""
ANSWERED = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What was seen of its runs since it was adopted. `is_cut`: of the newest alone.

    `fell_back` are those in which the agent was asked; `rate` is their share of those that ended, None where none did.
    `seconds` and `tokens` are what one of its runs that answered took on average, `seconds_saved` and `tokens_saved` what all of them
    took less than as many of the runs it was compiled from; None where nothing can be compared.
    """

    runs: int = 0
    ended: int = 0
    answered: int = 0
    fell_back: int = 0
    by_status: dict[str, int]
    seconds: float | None = None
    tokens: int | None = None
    seconds_saved: float | None = None
    tokens_saved: int | None = None
    timed: int = 0
    is_cut: bool = False

    @property
    def rate(self) -> float | None:
        """Its fallback rate."""
        return self.fell_back / self.ended if self.ended else None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "runs": self.runs,
            "ended": self.ended,
            "answered": self.answered,
            "fell_back": self.fell_back,
            "fallback_rate": None if self.rate is None else round(self.rate, 4),
            "by_status": self.by_status,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "seconds_saved": self.seconds_saved,
            "tokens_saved": self.tokens_saved,
            "is_cut": self.is_cut,
        }


def standing_of(routine: Routine) -> Standing | None:
    """Return how it does since it was adopted last, None for one that never was. One statement, of its newest thousand runs."""
    if not routine.workflow_key or routine.adopted_at is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(RUNS, [routine.workflow_key, routine.adopted_at, MOST_RUNS + 1])
        rows = cursor.fetchall()
    shown = rows[:MOST_RUNS]
    by_status: dict[str, int] = {}
    for status, *_ in shown:
        by_status[status] = by_status.get(status, 0) + 1
    ended = [it for it in shown if it[1]]
    answered = [it for it in ended if it[0] == ANSWERED]
    took = [it[3] for it in answered if it[3] is not None]
    used = [int(it[4]) for it in answered]
    return Standing(
        runs=len(shown),
        ended=len(ended),
        answered=len(answered),
        fell_back=sum(bool(it[2]) for it in ended),
        by_status=dict(sorted(by_status.items())),
        seconds=_average(took),
        tokens=None if not used else round(sum(used) / len(used)),
        seconds_saved=_saved(routine.baseline.get("seconds"), took),
        tokens_saved=_saved_tokens(routine.baseline.get("tokens"), used),
        timed=len(took),
        is_cut=len(rows) > MOST_RUNS,
    )


def _average(numbers: list[float]) -> float | None:
    return round(sum(numbers) / len(numbers), 3) if numbers else None


def _saved(before: float | None, took: list[float]) -> float | None:
    return round(before * len(took) - sum(took), 1) if before is not None and took else None


def _saved_tokens(before: int | None, used: list[int]) -> int | None:
    return before * len(used) - sum(used) if before is not None and used else None
