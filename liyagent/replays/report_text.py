"""A cohort replay as plain text, for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from liyagent.agents.replayed import TRIED
from liyagent.core.tables import aligned, cell, visible
from liyagent.providers.prices import active_prices
from liyagent.replays.ask import Wanted
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.page import alike, sums_of
from liyagent.replays.verdict import standing_of_verdict
from liyagent.replays.wording import beyond_told, sentence_of

HEADS = ("RUN", "VERDICT", "ANSWER", "STATUS", "TOOLS", "SERVED", "TOKENS")
LANE = "unchanged agent, lane {lane}"
LONGEST_OVERRIDE = 80


def estimate_text(wanted: Wanted) -> str:
    """Return what would be replayed, and about what it costs."""
    told = wanted.estimate
    cost = told["cost_micros"]
    lines = [
        f"{wanted.agent} at version {wanted.version}, {_override(wanted.override)}",
        f"{told['runs']} runs, {told['replays']} replays: about {told['model_calls']:,} model calls, "
        f"{told['input_tokens']:,} tokens in and {told['output_tokens']:,} out, as those runs took",
        "cost: no price is known for a model of it"
        if cost is None
        else f"cost: about {told['currency']} {cost / 1_000_000:.4f}",
        *_skipped(wanted.cohort.skipped),
    ]
    return visible("\n".join(lines))


def report_text(replay: CohortReplay, results: Sequence[Replayed]) -> str:
    """Return what came of it: each run in a line, what was skipped and why, and the verdict."""
    lines = [f"{replay.agent_key} at version {replay.agent_version}, {_override(replay.override)}"]
    if results:
        lines.append(aligned(HEADS, [_row(it) for it in results]))
    lines += _skipped(replay.skipped)
    counts = replay.summary.get("verdicts", {})
    lines.append(sentence_of(replay.status, replay.verdict, counts))
    if beyond := beyond_told(replay.beyond_baseline, replay.baseline):
        lines.append(beyond)
    if replay.reason:
        lines.append(f"{replay.status}: {replay.reason}")
    standing = standing_of_verdict(replay, with_results=True)
    if standing.is_verified is False:
        lines.append(f"its verdict does not verify: {standing.why}")
    own = sums_of((it for it in results if it.lane == 0), currency=active_prices().currency)
    if own:
        lines.append("; ".join(f"{name.lower()} {was} > {now}" for name, was, now, _ in own))
    if replay.digest:
        lines.append(f"digest {replay.digest}")
    lines.append(f"{replay.verdict or replay.status}: cohort replay {replay.id}")
    return visible("\n".join(lines))


def _row(result: Replayed) -> tuple[str, ...]:
    diff = result.diff
    status = diff["status"]
    tools = [*(f"+{it}" for it in diff["added"]), *(f"-{it}" for it in diff["dropped"])]
    served = [f"{number} {how}" for how, number in sorted(diff["counts"].items()) if number]
    was, now = (diff["input_tokens"][it] + diff["output_tokens"][it] for it in ("was", "now"))
    lane = f" ({LANE.format(lane=result.lane)})" if result.lane else ""
    return (
        f"{result.run_id}{lane}",
        result.verdict,
        "same" if "answer" not in diff["differs"] else f"{alike(diff)} alike",
        status["now"] if status["was"] == status["now"] else f"{status['was']} > {status['now']}",
        cell(", ".join(tools[:5]) or ("another order" if "tools" in diff["differs"] else "same")),
        ", ".join(served),
        f"{was:,} > {now:,}",
    )


def _skipped(skipped: Sequence[Mapping[str, str]]) -> list[str]:
    return [f"skipped {it['run']}: {it['reason']}" for it in skipped]


def _override(override: Mapping[str, Any]) -> str:
    told = []
    for name in (it for it in TRIED if it in override):
        text = cell(override[name])
        short = text if len(text) <= LONGEST_OVERRIDE else f"{text[:LONGEST_OVERRIDE]}…"
        told.append(f"{name} {short}")
    return f"with {'; '.join(told)}"
