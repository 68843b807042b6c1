"""What the page of one replayed run tells: both answers and both sequences of calls beside each other, with what differs marked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from liyagent.core.marked import Piece, marked
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell, visible
from liyagent.replays.beside import MOST_BESIDE, beside
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.page import (
    alike,
    differs_told,
    in_order,
    minus,
    names,
    run_address,
    sums_of,
    verdict_of,
)
from liyagent.replays.wording import DRIFT, HOW
from liyagent.replays.words import read_words
from runs.models import Run
from runs.transcript import task_of

LONGEST_SHOWN, LONGEST_TASK = 40_000, 4_000
FATES = {"failed": WARN, "refused": WARN, "held": WARN, "unknown": BAD}
NO_ANSWER = "It has no answer."
SERVED = "It was told what the recorded call came back with."


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A call as the page shows it: its place, its tool, and how it went; `args` and `result` are folded."""

    step: int
    number: int
    tool: str
    fate: SafeString | str
    args: str
    result: str
    how: SafeString | str = ""
    why: str = ""
    answered_by: str = ""
    drift: list[dict[str, str]] = field(default_factory=list)


def run_told(
    cohort: CohortReplay, result: Replayed, *, with_words: bool, currency: str
) -> dict[str, Any]:
    """Return what the page shows of one result; without the permission to read words, facts alone."""
    diff = result.diff
    return {
        "cohort": cohort,
        "result": result,
        "lane": result.lane,
        "verdict": verdict_of(result.verdict),
        "differs": differs_told(diff),
        "alike": alike(diff),
        "added": names(diff.get("added", ())),
        "dropped": names(diff.get("dropped", ())),
        "unserved": names(diff.get("unserved", ())),
        "unused": names(diff.get("unused", ())),
        "counts": [(pill(HOW[it][0], HOW[it][1]), number) for it, number in diff.get("counts", {}).items() if number and it in HOW],
        "sums": [*_steps(diff), *sums_of([result], currency=currency)],
        "ends": {side: _end(diff, side) for side in ("was", "now")},
        "around": around(cohort, result),
        "with_words": with_words,
        **({"task": _task(result), **_words(result)} if with_words else {}),
    }  # fmt: skip


def around(cohort: CohortReplay, result: Replayed) -> dict[str, Any]:
    """Return where the runs before and behind it, and the other lanes of the same run, are seen."""
    rows = in_order(cohort)
    lane = [it for it in rows if it.lane == result.lane]
    place = next((at for at, it in enumerate(lane) if it.pk == result.pk), 0)
    near = {"before": place - 1, "behind": place + 1}
    found: dict[str, Any] = {name: run_address(cohort, lane[at]) for name, at in near.items() if 0 <= at < len(lane)}  # fmt: skip
    lanes = sorted((it for it in rows if it.run_id == result.run_id), key=lambda it: it.lane)
    return {
        **found,
        "place": place + 1,
        "of": len(lane),
        "lanes": [
            (
                run_address(cohort, it),
                lane_name(it.lane),
                verdict_of(it.verdict),
                it.pk == result.pk,
            )
            for it in lanes
        ],
    }


def lane_name(lane: int) -> str:
    """Return what a lane is, in words."""
    return f"unchanged agent, {lane}" if lane else "as it was tried"


def _task(result: Replayed) -> str:
    """What the run was asked; it stands with the run, not with its replay."""
    run = Run.objects.filter(id=result.run_id).first()
    return visible(task_of(run)[:LONGEST_TASK]) if run is not None else ""


def _words(result: Replayed) -> dict[str, Any]:
    words = read_words(result)
    if problem := words.get("problem"):
        return {"problem": cell(problem)}
    was, now = words["was"], words["now"]
    answers = [str(it.get("answer") or "") for it in (was, now)]
    one, other = marked(*(it[:LONGEST_SHOWN] for it in answers))
    made, recorded = now["calls"], was["calls"]
    return {
        "answers": [
            {"pieces": _seen(pieces), "none": NO_ANSWER, "more": max(0, len(text) - LONGEST_SHOWN)}
            for pieces, text in zip((one, other), answers, strict=True)
        ],
        "reasons": [cell(it["reason"]) if it.get("reason") else "" for it in (was, now)],
        "guardrails": [cell(it) for it in now.get("guardrails", ())],
        "calls": _beside(recorded[:MOST_BESIDE], made[:MOST_BESIDE], _unused(words)),
        "calls_more": max(0, max(len(recorded), len(made)) - MOST_BESIDE),
    }


def _seen(pieces: Sequence[Piece]) -> list[Piece]:
    return [Piece(text=visible(it.text), is_other=it.is_other) for it in pieces]


def _unused(words: Mapping[str, Any]) -> set[tuple[int, int]]:
    return {(it["step"], it["index"]) for it in words.get("unused", ())}


def _beside(
    recorded: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]],
    unused: set[tuple[int, int]],
) -> list[tuple[Told | None, Told | None]]:
    places = {(it["step"], it["index"]): number for number, it in enumerate(recorded, start=1)}
    pairs = beside([it["tool"] for it in recorded], [it["tool"] for it in made])
    return [
        (
            None if was is None else _recorded(recorded[was], was + 1, unused),
            None if now is None else _made(made[now], now + 1, places),
        )
        for was, now in pairs
    ]


def _recorded(call: Mapping[str, Any], number: int, unused: set[tuple[int, int]]) -> Told:
    is_unused = (call["step"], call["index"]) in unused
    return Told(
        step=call["step"],
        number=number,
        tool=cell(call["tool"]),
        fate=_fate(call),
        args=_shown(call["args"]),
        result=_shown(call["result"]),
        how=pill("not asked for", WARN) if is_unused else "",
        why="The replay never made it." if is_unused else "",
    )


def _made(call: Mapping[str, Any], number: int, places: Mapping[tuple[int, int], int]) -> Told:
    words, kind, why = HOW.get(call["how"], (cell(call["how"]), QUIET, ""))
    served = call.get("served")
    place = places.get((served[0], served[1])) if served else None
    return Told(
        step=call["step"],
        number=number,
        tool=cell(call["tool"]),
        fate=_fate(call),
        args=_shown(call["args"]),
        result=SERVED if served else _shown(call["result"]),
        how=pill(words, kind),
        why="" if kind == GOOD else why,
        answered_by=f"by recorded call {place}" if place and kind != GOOD else "",
        drift=[_drift(it) for it in call.get("drift", ())],
    )


def _drift(it: Mapping[str, Any]) -> dict[str, str]:
    kind = str(it.get("kind"))
    return {
        "path": cell(it.get("path")),
        "kind": DRIFT.get(kind, cell(kind)),
        "was": "" if kind == "added" else _shown(it.get("was")),
        "now": "" if kind == "dropped" else _shown(it.get("now")),
    }


def _fate(call: Mapping[str, Any]) -> SafeString | str:
    fate = str(call.get("fate"))
    return "" if fate == "done" else pill(fate, FATES.get(fate, QUIET))


def _shown(value: Any) -> str:
    """A value as it was kept: a text as it is, all else as JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, ensure_ascii=False, indent=1))


def _end(diff: Mapping[str, Any], side: str) -> dict[str, str]:
    return {name: cell(diff.get(name, {}).get(side)) for name in ("status", "error")}


def _steps(diff: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    told = (("Model steps", "steps"), ("Calls", "calls"))
    rows = []
    for words, name in told:
        was, now = (int(diff.get(name, {}).get(it, 0)) for it in ("was", "now"))
        rows.append((words, str(was), str(now), minus(f"{now - was:+d}") if now != was else ""))
    return rows
