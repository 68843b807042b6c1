"""The verdict of a cohort: what it covers, its digest and its seal, and whether it still stands as it was written (RP-05)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from liyagent.core.canonical import digest
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.transactions import require_transaction
from liyagent.jobs.models import NOW
from liyagent.replays.diff import beyond_baseline, cohort_verdict
from liyagent.replays.end import LIVE, record_end
from liyagent.replays.models import CohortReplay, Replayed, ReplayStatus
from runs.checkpoint import keyring

FORMAT, SEALED = 1, "verdict"
DOMAIN = "liyagent/cohort-replay/v1"
BESIDE = ("steps", "calls", "input_tokens", "output_tokens", "cost_micros", "model_ms")
FACTS = ("run_id", "lane", "number", "status", "error", "verdict", "diff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether a verdict is as it was written; `why` says what is wrong where it is not. None: it has none."""

    is_verified: bool | None
    why: str = ""


def give_verdict(replay_id: UUID) -> bool:
    """End it as done with the verdict of what is kept, within the caller's transaction; whether it had not ended before."""
    require_transaction("giving a verdict")
    replay = CohortReplay.objects.select_for_update().get(id=replay_id)
    if replay.status not in LIVE:
        return False
    results = results_facts(replay_id)
    replay.status = ReplayStatus.DONE
    replay.verdict = cohort_verdict(it["verdict"] for it in results if not it["lane"])
    replay.beyond_baseline = _beyond(results) if replay.baseline else ""
    replay.summary = summary_of(replay, results)
    replay.reason = "" if results else "nothing could be replayed: each reason is listed"
    replay.digest = digest_of(replay)
    ring = keyring()
    replay.key_id = ring.newest
    sealer = ring.sealer(key_id=ring.newest, run_id=replay.id, format_number=FORMAT)
    replay.sealed = sealer.seal({"digest": replay.digest}, kind=SEALED, number=0)
    replay.ended_at = NOW
    replay.save(
        update_fields=[
            "status", "verdict", "beyond_baseline", "summary", "reason", "digest", "key_id", "sealed", "ended_at",
        ]
    )  # fmt: skip
    record_end(replay, actor=replay.asked_by)
    return True


def standing_of_verdict(replay: CohortReplay, *, with_results: bool) -> Standing:
    """Say whether a verdict is as it was written: by its head, and `with_results` by each of them too.

    A list looks at heads alone; whoever relies on a verdict looks at all of it.
    """
    if replay.status != ReplayStatus.DONE:
        return Standing(is_verified=None)
    if digest_of(replay) != replay.digest:
        return Standing(is_verified=False, why="what it was given for, or what it says, was changed since")  # fmt: skip
    if why := _broken_seal(replay):
        return Standing(is_verified=False, why=why)
    if with_results and digest_of_results(results_facts(replay.id)) != replay.summary.get("results"):  # fmt: skip
        return Standing(is_verified=False, why="the results of its runs were changed since")
    return Standing(is_verified=True)


def digest_of(replay: CohortReplay) -> str:
    """Return the digest over agent, version, override, cohort, and results by their own digest in the summary."""
    return digest(
        [
            DOMAIN,
            {
                "replay": str(replay.id),
                "agent": replay.agent_key,
                "version": replay.agent_version,
                "override": replay.override,
                "strict": replay.strict,
                "baseline": replay.baseline,
                "most_calls": replay.most_calls,
                "most_tokens": replay.most_tokens,
                "runs": replay.runs,
                "skipped": replay.skipped,
                "verdict": replay.verdict,
                "beyond_baseline": replay.beyond_baseline,
                "summary": replay.summary,
            },
        ]
    )


def digest_of_results(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the digest over what came of each run in each lane."""
    return digest([[str(it["run_id"]), *(it[name] for name in FACTS[1:])] for it in results])


def results_facts(replay_id: UUID) -> list[dict[str, Any]]:
    """Return the facts of all results in their order, nobody's words among them."""
    rows = Replayed.objects.filter(cohort_id=replay_id).order_by("number")
    return [dict(it) for it in rows.values(*FACTS)]


def summary_of(replay: CohortReplay, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what it came to in numbers: the runs by verdict, how calls were answered, and what it took beside what it took then."""
    lane = [it for it in results if not it["lane"]]
    baseline = [it for it in results if it["lane"]]
    counts: Counter[str] = Counter()
    for it in lane:
        counts.update(it["diff"]["counts"])
    return {
        "runs": len(replay.runs),
        "replayed": len(lane),
        "skipped": len(replay.skipped),
        "verdicts": _verdicts(lane),
        "baseline_verdicts": _verdicts(baseline),
        "served": dict(sorted(counts.items())),
        "unused": sum(len(it["diff"]["unused"]) for it in lane),
        "drift": sum(it["diff"]["drift"] for it in lane),
        "beside": {
            name: {
                when: sum(it["diff"][name][when] for it in lane) for when in ("was", "now")
            }
            for name in BESIDE
        },
        "asked": {
            "model_calls": sum(it["diff"]["steps"]["now"] for it in results),
            "tokens": sum(tokens_now(it["diff"]) for it in results),
            "cost_micros": sum(it["diff"]["cost_micros"]["now"] for it in results),
        },
        "results": digest_of_results(results),
    }  # fmt: skip


def tokens_now(diff: Mapping[str, Any]) -> int:
    """Return the tokens that a replay took."""
    return int(diff["input_tokens"]["now"]) + int(diff["output_tokens"]["now"])


def _verdicts(results: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(it["verdict"] for it in results).items()))


def _beyond(results: Sequence[Mapping[str, Any]]) -> str:
    lanes: dict[UUID, list[Sequence[str]]] = defaultdict(list)
    for it in results:
        if it["lane"]:
            lanes[it["run_id"]].append(it["diff"]["differs"])
    return beyond_baseline((it["diff"]["differs"], lanes[it["run_id"]]) for it in results if not it["lane"])  # fmt: skip


def _broken_seal(replay: CohortReplay) -> str:
    if replay.sealed is None:
        return "it bears no seal of ours"
    try:
        sealer = keyring().sealer(key_id=replay.key_id, run_id=replay.id, format_number=FORMAT)
        sealed = sealer.open(bytes(replay.sealed), kind=SEALED, number=0)
    except KeyMissing:
        return f"the key {replay.key_id} that it is sealed with is not here"
    except SealBroken:
        return "its seal is none of ours"
    return "" if sealed == {"digest": replay.digest} else "its seal is that of another verdict"
