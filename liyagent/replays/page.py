"""What the page of a cohort replay tells: how it stands, what came of each run, and what was left out. Facts alone, no words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.agents.models import AgentVersion
from liyagent.core.marked import marked
from liyagent.core.pills import BAD, GOOD, QUIET, pill
from liyagent.core.tables import cell, visible
from liyagent.providers.prices import active_prices
from liyagent.replays.diff import RANK, REGRESSED
from liyagent.replays.listing import results_of
from liyagent.replays.models import CohortReplay, Replayed, ReplayStatus
from liyagent.replays.verdict import standing_of_verdict
from liyagent.replays.wording import DIFFERS, STATUSES, VERDICTS, beyond_told, sentence_of

LIVE = (ReplayStatus.QUEUED, ReplayStatus.RUNNING)
LONGEST_FIELD = 20_000
LONG_FIELD = 200
FIGURES = ("input_tokens", "output_tokens", "cost_micros", "model_ms")
ESTIMATE = (
    ("replays", "replays"),
    ("model_calls", "model calls"),
    ("input_tokens", "tokens in"),
    ("output_tokens", "tokens out"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the cohort: its result under the override, and how its baseline lanes came out."""

    result: Replayed
    address: str
    verdict: SafeString
    differs: list[str]
    alike: str
    added: str
    dropped: str
    drift: int
    unserved: int
    by_order: int
    tokens: tuple[str, str]
    cost: tuple[str, str]
    seconds: tuple[str, str]
    lanes: list[tuple[str, SafeString]]


def is_live(cohort: CohortReplay) -> bool:
    """Whether something of it may still change."""
    return cohort.status in LIVE


def in_order(cohort: CohortReplay) -> list[Replayed]:
    """Return what came of each run in each lane, without words: the worst first, what differs in more ways before what does in fewer."""
    return sorted(results_of(cohort), key=lambda it: (-RANK.get(it.verdict, 0), -len(it.diff.get("differs", [])), it.number))  # fmt: skip


def verified_of(cohort: CohortReplay) -> SafeString:
    """Say whether the verdict stands as it was written, looked at anew: each result too."""
    standing = standing_of_verdict(cohort, with_results=True)
    if standing.is_verified is None:
        return pill("none yet" if is_live(cohort) else "none: it came to no verdict", QUIET)
    if standing.is_verified:
        return pill("verifies", GOOD)
    why = format_html('<span class="liy-line liy-wrap">{}</span>', cell(standing.why))
    return format_html("{} {}", pill("does not verify", BAD), why)


def now_told(cohort: CohortReplay) -> dict[str, Any]:
    """Return the part of the page that changes while it is carried out."""
    results = in_order(cohort)
    own = [it for it in results if it.lane == 0]
    counts = Counter(it.verdict for it in own)
    left_out = {it.get("run") for it in cohort.skipped}
    total = sum(it not in left_out for it in cohort.runs) * (1 + cohort.baseline)
    currency = active_prices().currency
    return {
        "cohort": cohort,
        "is_live": is_live(cohort),
        "state": state_of(cohort),
        "verdict": verdict_of(cohort.verdict),
        "sentence": sentence_of(cohort.status, cohort.verdict, counts),
        "beyond": beyond_told(cohort.beyond_baseline, cohort.baseline),
        "done": len(results),
        "total": total,
        "rows": rows_of(cohort, results),
        "currency": currency,
        "counted": [(verdict_of(name), counts[name]) for name in VERDICTS if counts[name]],
        "sums": sums_of(own, currency=currency),
        "skipped": skipped_of(cohort),
        "bounds": bounds_of(cohort),
        "expected": estimate_told(cohort.estimate),
    }


def rows_of(cohort: CohortReplay, results: Sequence[Replayed]) -> list[RunRow]:
    """Return a row for each run that was replayed under the override."""
    lanes: dict[Any, list[Replayed]] = {}
    for it in results:
        if it.lane:
            lanes.setdefault(it.run_id, []).append(it)
    return [_row(cohort, it, lanes.get(it.run_id, [])) for it in results if it.lane == 0]


def run_address(cohort: CohortReplay, result: Replayed) -> str:
    """Return where both answers and both sequences of calls are seen."""
    return reverse("admin:replays_cohortreplay_run", args=[cohort.id, result.pk])


def verdict_of(verdict: str) -> SafeString | str:
    """Return a verdict in words, "" for none."""
    return pill(*VERDICTS[verdict]) if verdict in VERDICTS else ""


def state_of(cohort: CohortReplay) -> SafeString:
    """Return where it stands, in words."""
    return pill(*STATUSES.get(cohort.status, (cohort.status, QUIET)))


def differs_told(diff: Mapping[str, Any]) -> list[str]:
    """Return in which ways a replay is another, in words. Of one that does not answer any more nobody asks how it answers."""
    found = [str(it) for it in diff.get("differs", ())]
    hidden = {"answer", "status"} if REGRESSED in found else set()
    return [DIFFERS.get(it, cell(it)) for it in found if it not in hidden]


def sums_of(results: Iterable[Replayed], *, currency: str) -> list[tuple[str, str, str, str]]:
    """Return name, recorded, replayed and the difference of what the replayed runs took together."""
    rows = list(results)
    if not rows:
        return []
    was, now = ({it: sum(_figure(row.diff, it, side) for row in rows) for it in FIGURES} for side in ("was", "now"))  # fmt: skip
    told = [
        ("Tokens in", *_beside(was, now, "input_tokens", number)),
        ("Tokens out", *_beside(was, now, "output_tokens", number)),
        ("Waited for the model", *_beside(was, now, "model_ms", seconds)),
    ]
    if was["cost_micros"] or now["cost_micros"]:
        told.append(("Cost", *_beside(was, now, "cost_micros", lambda it: cost(it, currency))))
    return told


def skipped_of(cohort: CohortReplay) -> list[tuple[str, str]]:
    """Return what was left out, and each reason."""
    rows = cohort.skipped if isinstance(cohort.skipped, list) else []
    return [(cell(it.get("run")), cell(it.get("reason"))) for it in rows if isinstance(it, dict)]


def tried_of(override: Mapping[str, Any]) -> str:
    """Return what is another in a few words."""
    named = [cell(override[it]) for it in ("provider", "model") if override.get(it)]
    told = [f"model {'/'.join(named)}" if override.get("model") else f"provider {named[0]}"] if named else []  # fmt: skip
    told += [f"other {it}" for it in ("instructions",) if override.get(it) is not None]
    if any(override.get(it) is not None for it in ("base_url", "api_key_env")):
        told.append("another endpoint")
    return ", ".join(told) or "nothing else"


def override_of(cohort: CohortReplay) -> list[dict[str, Any]]:
    """Return the fields that are another, as the agent had them and as they were tried; long ones with what differs marked."""
    versions = AgentVersion.objects.filter(agent__key=cohort.agent_key, number=cohort.agent_version)
    before = versions.values_list("definition", flat=True).first() or {}
    return [_field(name, str(before.get(name, "")), str(value)) for name, value in cohort.override.items()]  # fmt: skip


def bounds_of(cohort: CohortReplay) -> list[str]:
    """Return what bounds it, in words."""
    calls, tokens = cohort.most_calls, cohort.most_tokens
    named = [f"{number(calls)} model calls"] if calls else []
    named += [f"{number(tokens)} tokens"] if tokens else []
    return named


def estimate_told(estimate: Mapping[str, Any]) -> list[str]:
    """Return what is expected of it, in words; nothing where nothing was kept."""
    told = [f"{number(estimate[name])} {words}" for name, words in ESTIMATE if isinstance(estimate.get(name), int)]  # fmt: skip
    micros = estimate.get("cost_micros")
    if told and isinstance(micros, int):
        told.append(f"about {cost(micros, str(estimate.get('currency', '')))}")
    return told


def number(value: int) -> str:
    """Return a number with its thousands parted."""
    return f"{value:,}"


def seconds(milliseconds: int) -> str:
    """Return a time in seconds."""
    return f"{milliseconds / 1000:,.1f} s"


def cost(micros: int, currency: str = "") -> str:
    """Return a cost, with the currency of the prices where that is not told elsewhere."""
    return f"{micros / 1_000_000:,.4f} {cell(currency) if currency else ''}".strip()


def _row(cohort: CohortReplay, result: Replayed, lanes: Sequence[Replayed]) -> RunRow:
    diff = result.diff
    counts = diff.get("counts", {})
    tokens = [number(_figure(diff, "input_tokens", it) + _figure(diff, "output_tokens", it)) for it in ("was", "now")]  # fmt: skip
    costs = [_figure(diff, "cost_micros", it) for it in ("was", "now")]
    return RunRow(
        result=result,
        address=run_address(cohort, result),
        verdict=pill(*VERDICTS[result.verdict]),
        differs=differs_told(diff),
        alike=alike(diff),
        added=names(diff.get("added", ())),
        dropped=names(diff.get("dropped", ())),
        drift=int(diff.get("drift", 0)),
        unserved=int(counts.get("unserved", 0)),
        by_order=int(counts.get("by_order", 0)),
        tokens=(tokens[0], tokens[1]),
        cost=(cost(costs[0]), cost(costs[1])) if any(costs) else ("", ""),
        seconds=(seconds(_figure(diff, "model_ms", "was")), seconds(_figure(diff, "model_ms", "now"))),
        lanes=[(run_address(cohort, it), pill(*VERDICTS[it.verdict])) for it in lanes],
    )  # fmt: skip


def alike(diff: Mapping[str, Any]) -> str:
    """Return how alike both answers are; what is not the same is never told as all of it."""
    share = float(diff.get("similarity", 0.0))
    return "the same" if share >= 1 else f"{min(99, int(share * 100))}%"


def minus(text: str) -> str:
    """Return a number with the sign that is as wide as a plus."""
    return text.replace("-", "\N{MINUS SIGN}")


def names(tools: Iterable[Any]) -> str:
    """Return names of tools with how often each stands there."""
    counted = Counter(str(it) for it in tools)
    return ", ".join(cell(it if times == 1 else f"{it} ×{times}") for it, times in counted.items())  # noqa: RUF001 - times


def _figure(diff: Mapping[str, Any], name: str, side: str) -> int:
    return int(diff.get(name, {}).get(side, 0))


def _beside(was: Mapping[str, int], now: Mapping[str, int], name: str, told: Any) -> tuple[str, str, str]:  # fmt: skip
    before, after = was[name], now[name]
    change = f"{(after - before) / before * 100:+.0f}%" if before and after != before else ""
    return told(before), told(after), minus(change)


def _field(name: str, was: str, now: str) -> dict[str, Any]:
    was, now = was[:LONGEST_FIELD], now[:LONGEST_FIELD]
    is_long = max(len(was), len(now)) > LONG_FIELD or "\n" in was + now
    if not is_long:
        return {"name": name, "was": cell(was), "now": cell(now)}
    one, other = marked(visible(was), visible(now))
    return {"name": name, "is_long": True, "was": one, "now": other}
