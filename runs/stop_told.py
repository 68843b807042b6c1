"""What a person is told before a run is stopped: what of it would be undone, or that nothing would be (ruling 43)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from liyagent.core.moments import when
from liyagent.core.tables import cell
from runs.models import Run
from runs.preview_undo import preview_undo
from runs.saga_state import counts_of
from runs.undo_run import is_undo_run
from sagas.models import UndoFate

MOST_NAMED = 50
UNDO_HEADS = ("№", "What was done", "When", "Undone by")
ENDS = "The run ends at its next statement. A write under way is settled by the rules."


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTold:
    """Sentences, and the writes that would be undone, as rows under `UNDO_HEADS`."""

    told: list[str]
    rows: list[tuple[object, ...]]


def stop_preview(run: Run) -> StopTold:
    """Return what stopping a run now would come to."""
    if is_undo_run(run):
        told = "It undoes what another run did: what is not undone yet stays owed, and is undone when somebody asks for it."
        return StopTold(told=[ENDS, told], rows=[])
    if run.parent_id is not None:
        told = "It works for the run above it: what it did is undone only if that one fails, or is stopped."
        return StopTold(told=[ENDS, told], rows=[])
    found = preview_undo(run.id, most=MOST_NAMED + 1)
    rows: list[tuple[object, ...]] = [
        (it.order, cell(f"{it.of_server}/{it.of_tool}"), when(it.registered_at), cell(f"{it.server}/{it.tool}"))
        for it in found[:MOST_NAMED]
    ]  # fmt: skip
    return StopTold(told=[ENDS, _undone(run, len(found))], rows=rows)


def _undone(run: Run, number: int) -> str:
    further = "What it still writes until then is undone too."
    if number > MOST_NAMED:
        return f"Then what it did is undone, the newest first, by a run of its own. The newest {MOST_NAMED} writes stand below; there are more. {further}"
    if number:
        those = "this write" if number == 1 else f"these {number} writes, the newest first"
        return f"Then what it did is undone by a run of its own: {those}. {further}"
    if counts_of([run.id]).get(run.id, {}).get(UndoFate.OWED.value):
        return "Nothing is undone: its workflow says that a stopped run keeps what it did."
    return "So far it wrote nothing that can be undone: nothing is undone."


def owed_of(runs: list[Run]) -> dict[Any, int]:
    """Return how many writes of each of these runs could be undone, by its id; of a run below another, none of its own."""
    roots = [it.id for it in runs if it.parent_id is None]
    return {key: it.get(UndoFate.OWED.value, 0) for key, it in counts_of(roots).items()}
