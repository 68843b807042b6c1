"""The words of a result: both answers, the steps, the calls and where their arguments drifted; sealed, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from liyagent.core.plain import json_bytes, to_plain
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.replays.made import How, MadeCall, MadeStep, ReplayedRun
from liyagent.replays.models import Replayed
from liyagent.replays.recorded import RecordedCall, RecordedStep, Recording
from runs.checkpoint import keyring

FORMAT, KIND = 1, "replayed"
LONGEST_ANSWER, LONGEST_TEXT, LONGEST_VALUE, LONGEST_NAME = 200_000, 4_000, 2_000, 300
MOST_STEPS, MOST_CALLS = 200, 500
# Of one result: of each step so many names, and of all calls together so many places that drifted.
MOST_NAMES, MOST_PLACES = 50, 500
CUT = "… (cut: {length} characters)"


def words_of(recording: Recording, replayed: ReplayedRun) -> dict[str, Any]:
    """Return what was said then and now, as plain data; what is very long is cut, and says so."""
    return {
        "was": {
            "status": recording.status,
            "reason": _cut(recording.reason, LONGEST_TEXT),
            "answer": _cut(recording.answer, LONGEST_ANSWER),
            "steps": _steps(recording.steps),
            "calls": [_recorded(it) for it in recording.calls[:MOST_CALLS]],
        },
        "now": {
            "status": replayed.status,
            "reason": _cut(replayed.reason, LONGEST_TEXT),
            "answer": _cut(replayed.answer, LONGEST_ANSWER),
            "steps": _steps(replayed.steps),
            "calls": _all_made(replayed.calls[:MOST_CALLS]),
            "guardrails": [_cut(it, LONGEST_VALUE) for it in replayed.guardrails[:MOST_CALLS]],
        },
        "unused": [_recorded(it) for it in replayed.unused[:MOST_CALLS]],
    }


def sealed_words(words: dict[str, Any], *, cohort: Any, number: int) -> tuple[str, bytes]:
    """Return the id of the key and the sealed words of a result."""
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=cohort, format_number=FORMAT)
    return ring.newest, sealer.seal(to_plain(words), kind=KIND, number=number)


def read_words(result: Replayed) -> dict[str, Any]:
    """Return the words of a result, for who may read them; where they cannot be opened, `{"problem": why}`."""
    try:
        sealer = keyring().sealer(
            key_id=result.key_id, run_id=result.cohort_id, format_number=FORMAT
        )
        words: dict[str, Any] = sealer.open(bytes(result.sealed), kind=KIND, number=result.number)
    except (KeyMissing, SealBroken) as error:
        return {"problem": f"cannot be opened: {error.title}"}
    return words


def _steps(steps: Sequence[RecordedStep] | Sequence[MadeStep]) -> list[dict[str, Any]]:
    return [
        {"number": it.number, "text": _cut(it.text, LONGEST_TEXT), "finish": it.finish, "calls": [_cut(name, LONGEST_NAME) for name in it.calls[:MOST_NAMES]]}
        for it in steps[:MOST_STEPS]
    ]  # fmt: skip


def _recorded(call: RecordedCall) -> dict[str, Any]:
    return {
        "step": call.step,
        "index": call.index,
        "tool": _cut(call.name, LONGEST_NAME),
        "args": _short(call.args),
        "fate": call.fate,
        "result": _short(call.result),
    }


def _all_made(calls: Sequence[MadeCall]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    left = MOST_PLACES
    for it in calls:
        found.append(_made(it, most_places=left))
        left -= len(found[-1]["drift"])
    return found


def _made(call: MadeCall, *, most_places: int) -> dict[str, Any]:
    served = None if call.recorded is None else [call.recorded.step, call.recorded.index]
    return {
        "step": call.step,
        "index": call.index,
        "tool": _cut(call.name, LONGEST_NAME),
        "args": _short(call.args),
        "how": call.how.value,
        "fate": call.fate,
        # What the record served stands there, beside the call that it answered.
        "result": None if call.how in (How.EXACT, How.BY_ORDER) else _short(call.result),
        "served": served,
        "drift": [
            {
                "path": _cut(it.path, LONGEST_NAME),
                "kind": it.kind,
                "was": _short(it.was),
                "now": _short(it.now),
            }
            for it in call.drift[:most_places]
        ],
    }


def _short(value: Any) -> Any:
    """A value as it is, or the beginning of its JSON where that is long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json_bytes(value).decode()
    return value if len(text) <= LONGEST_VALUE else _cut(text, LONGEST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + CUT.format(length=len(text))
