"""What was said and done in a run that ended, as the history of one that goes on from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from liyagent.gateway.outcome import Fate
from liyagent.providers.types import Role
from runs.models import Call, Run
from runs.start import LONGEST_TASK, MOST_TURNS
from sagas.models import Undo, UndoFate

# One text is told so long, all together as a start takes it.
LONGEST_TEXT = 20_000
LONGEST_TOLD_TASK = 50_000
ROOM = LONGEST_TASK - 5_000
MOST_WRITES = 200
FATES: Mapping[str, str] = {
    Fate.DONE: "It was made; what it answered is not kept.",
    Fate.FAILED: "It failed.",
    Fate.REFUSED: "It was refused, and not sent.",
    Fate.HELD: "It was held for a person, and not sent.",
    Fate.UNKNOWN: "Nobody knows whether it took effect, and it was not sent again.",
}
NOT_MADE = "It was not made."
UNDONE = ", and UNDONE since: what it made is not there any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """The task as it was asked, and the turns before it with what was done since."""

    task: str
    history: list[dict[str, str]]


def so_far(run: Run, messages: Sequence[Mapping[str, Any]]) -> SoFar:
    """Return an ended run's conversation as turns: those it was given, its task, and one that tells what it did.

    Results of tools are told in the agent's own turn, never as a person's words. Beyond the bounds of a start the oldest
    are left out, and the turn says so.
    """
    place = max(index for index, it in enumerate(messages) if it["role"] == Role.USER)
    task = str(messages[place]["text"])
    marks = list(Call.objects.filter(run_id=run.id).order_by("step", "index")[:MOST_WRITES])
    ended = _ended(run, marks)
    asked = task if len(task) <= LONGEST_TOLD_TASK else "(The task is told again below.)"
    room = ROOM - len(asked) - len(ended)
    notes, room = _latest(_notes(messages[place + 1 :], marks), room)
    turns = [{"role": str(it["role"]), "text": str(it["text"])} for it in messages[:place]]
    earlier = _latest_turns(turns, room)
    done = "\n\n".join([f"(Run {run.id}, which ended, did this.)", *notes, ended])
    return SoFar(
        task=task,
        history=[*earlier, {"role": "user", "text": asked}, {"role": "assistant", "text": done}],
    )


def _notes(work: Sequence[Mapping[str, Any]], marks: Sequence[Call]) -> list[str]:
    """One text for each thing that was said, or asked for with what came back."""
    fates = {(it.step, it.index): it.fate for it in marks}
    notes: list[str] = []
    for step, (answer, results) in enumerate(_steps(work), start=1):
        if answer["text"]:
            notes.append(_cut(str(answer["text"])))
        notes += [
            _call_told(call, results.get(call["id"]), fates.get((step, index), ""))
            for index, call in enumerate(answer.get("calls", ()))
        ]
    return notes


def _steps(work: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Each answer of the model with the results that came for its calls: ids are a step's own."""
    places = [index for index, it in enumerate(work) if it["role"] == Role.ASSISTANT]
    for place, end in zip(places, [*places, len(work)][1:], strict=True):
        yield work[place], {it["call_id"]: it for it in work[place + 1 : end]}


def _call_told(call: Mapping[str, Any], result: Mapping[str, Any] | None, fate: str) -> str:
    arguments = call["arguments_text"] or json.dumps(call["args"], ensure_ascii=False)
    asked = f"I called {call['tool']} with {_cut(arguments)}."
    if result is None:
        return f"{asked} {FATES.get(fate, NOT_MADE)}"
    said = "It failed" if result["is_error"] else "It answered"
    return f"{asked} {said}: {_cut(str(result['text']))}"


def _ended(run: Run, marks: Sequence[Call]) -> str:
    lines = [f"(It ended before it answered: {run.status}. {_cut(run.reason)})"]
    if marks:
        undone = _undone(run)
        lines.append("(Its writes, none of which is to be made again without need:")
        lines += [
            f"- step {it.step}, {it.server}/{it.tool}: {it.fate or 'not sent'}"
            f"{UNDONE if (it.step, it.index) in undone else ''}"
            for it in marks
        ]
        lines.append(")")
    return "\n".join(lines)


def _undone(run: Run) -> set[tuple[int, int]]:
    """The writes that were undone when it had failed: what they made is not there any more."""
    found = Undo.objects.filter(run_id=run.id, fate=UndoFate.DONE)
    return set(found.order_by("-order").values_list("step", "index")[:MOST_WRITES])


def _latest(notes: list[str], room: int) -> tuple[list[str], int]:
    kept: list[str] = []
    for note in reversed(notes):
        if len(note) + 2 > room:
            left_out = len(notes) - len(kept)
            return [f"({left_out} earlier things that were done are left out.)", *kept], 0
        kept.insert(0, note)
        room -= len(note) + 2
    return kept, room


def _latest_turns(turns: list[dict[str, str]], room: int) -> list[dict[str, str]]:
    kept: list[dict[str, str]] = []
    for turn in reversed(turns[-(MOST_TURNS - 2) :]):
        room -= len(turn["text"])
        if room < 0:
            break
        kept.insert(0, turn)
    return kept


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= LONGEST_TEXT
        else f"{text[:LONGEST_TEXT]} (cut: it has {len(text)} characters)"
    )
