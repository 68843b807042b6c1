"""How a saga stands, in a sentence that is understood at night, and what a person has to do. Nothing here asks the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liyagent.core.tables import cell
from runs.models import Run
from sagas.models import Saga, SagaStatus, UndoFate
from sagas.wording import COUNTED

LONGEST_REASON = 600
ON_PURPOSE = frozenset({"stopped", "rejected", "cap"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff:
    """Where the hand-off stands: in words (`told`), what is to be done about it, "" for nothing, and the page that shows it."""

    told: str
    to_do: str = ""
    url: str = ""

    @property
    def is_open(self) -> bool:
        """Whether somebody has to act on it."""
        return bool(self.to_do)


def beginning_of(saga: Saga, root: Run | None) -> str:
    """Say how its run ended, behind `Run <id> `."""
    of = (
        f"of workflow {cell(saga.workflow)}"
        if saga.workflow
        else f"of agent {cell(saga.agent_key)}"
    )
    if root is None:
        return f"{of} is not kept here any more"
    if not root.is_ended:
        return f"{of} goes on"
    return f"{of} {_ended(saga, root)}"


def _ended(saga: Saga, root: Run) -> str:
    at = f" at step {cell(saga.failed_step)}" if saga.failed_step else ""
    if root.status == "answered":
        return "answered"
    if saga.cause == "stopped" or root.status == "stopped":
        return f"was stopped by {cell(root.stopped_by)}"
    reason = root.reason.removeprefix(f"step {saga.failed_step}: ")
    why = f": {_short(reason)}" if reason else ""
    if saga.cause == "rejected":
        return f"ended{at}, because a person said no{why}"
    if saga.cause == "cap":
        return f"met a cap{at}{why}"
    return f"{'was lost' if root.error == 'lost' else 'failed'}{at}{why}"


def counted(
    saga: Saga, counts: Mapping[str, int], unknown: int, *, is_more: bool, bare: str = ""
) -> str:
    """Say what became of its writes: `Of 3 writes 2 are undone, 1 is held for approval.`; `bare` says what has no undo."""
    undos = _undos(saga, counts, is_all=not bare)
    return " ".join(it for it in (undos, bare, _unknown(unknown, is_more=is_more)) if it)


def _undos(saga: Saga, counts: Mapping[str, int], *, is_all: bool) -> str:
    total = sum(counts.values())
    if not total:
        return "It made no write for which an undo is declared."
    if saga.closed_reason == "its run answered" and saga.status == SagaStatus.CLOSED:
        return f"It keeps what it wrote; {_number(total, 'write')} could have been undone."
    if saga.status == SagaStatus.OPEN:
        return f"Should it fail, {_number(counts.get('owed', 0), 'write')} will be undone."
    if counts.get("done", 0) == total and not is_all:
        return f"{_number(total, 'write')} {'is' if total == 1 else 'are'} undone."
    if counts.get("done", 0) == total:
        return "Its one write is undone." if total == 1 else f"All {total} writes are undone."
    told = [
        f"{number} {one if number == 1 else more}"
        for name, (one, more) in COUNTED.items()
        if (number := counts.get(name, 0))
    ]
    if total == 1 and told:
        return f"{'Its one' if is_all else '1'} write {told[0].removeprefix('1 ')}."
    return f"Of {_number(total, 'write')} {', '.join(told)}."


def _unknown(number: int, *, is_more: bool) -> str:
    if not number:
        return ""
    more = " or more" if is_more else ""
    verb = "is" if number == 1 and not is_more else "are"
    return f"{number}{more} sent {'call' if number == 1 and not is_more else 'calls'} {verb} of unknown outcome."


def to_do(
    saga: Saga, counts: Mapping[str, int], unknown: int, handed: HandedOff | None
) -> list[str]:
    """Return what a person has to do, in the order in which it is best done; nothing where nothing is."""
    if saga.status in {SagaStatus.OPEN, SagaStatus.CLOSED}:
        return []
    if saga.status == SagaStatus.COMPENSATING:
        return ["Wait: it is being undone just now. Load this page again."]
    has = {it.value: counts.get(it.value, 0) for it in UndoFate}
    steps = []
    if unknown:
        steps.append("Look at the vendor for each call of unknown outcome, and say what happened.")
    if has["held"]:
        steps.append("Decide about what is held: approved, it is undone then.")
    if has["failed"]:
        steps.append(
            "See below why an undo failed, mend that, and compensate what is owed. Where its arguments are wrong, undo it by hand: they stay as they were fixed."
        )
    if has["owed"]:
        kept = " It was kept on purpose." if saga.round == 0 and saga.cause in ON_PURPOSE else ""
        steps.append(f"Compensate what is owed, or close it if it is to stay.{kept}")
    if has["missing"]:
        steps.append("Undo by hand what cannot be undone by itself.")
    if handed is not None and handed.to_do:
        steps.append(f"Then {handed.to_do}" if steps else _capital(handed.to_do))
    elif steps:
        steps.append("Then close it with a reason, if anything of it is left.")
    return steps


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _short(text: str) -> str:
    told = cell(text).rstrip(".")
    return told if len(told) <= LONGEST_REASON else f"{told[:LONGEST_REASON]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
