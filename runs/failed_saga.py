"""What becomes of the writes of a root run that ends otherwise than answered, as it rides in that very commit (SG-05, ruling 43)."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs.checkpoint import keyring
from runs.endings import EndError
from runs.hot import NO_SAGA, SagaRide
from runs.models import Run, RunStatus
from runs.undo_ride import FORMAT
from runs.undo_run import undo_child

CONTEXT = "saga-context"
# Of the context: what a run that begins again is given.
AGAIN = "again"
# Of a run below the root: what it leaves is listed in the saga of its root.
LISTED = SagaRide(facts={"unknown": True}, sealed=(None, None, None))
FAILED, STOPPED, REJECTED, CAP = "failed", "stopped", "rejected", "cap"
# A person's word, or a cap: the writes are undone unless `on_stop` is `keep`.
BY_WORD = frozenset({STOPPED, REJECTED, CAP})
# A person said so: where nothing was registered there is nothing to hand to another.
BY_PERSON = frozenset({STOPPED, REJECTED})


def failed_saga(
    run: Run,
    *,
    status: RunStatus,
    error: EndError,
    failed_step: str,
    on_failure: dict[str, Any],
    leaves_unknown: bool,
    context: dict[str, Any] | None,
) -> SagaRide:
    """Return what the end of a run sets going: nothing but for a root that was not answered.

    `on_failure` is the workflow's own, `{}` for an agent's run. `context` is what a person will want to know, None where it
    cannot be told. `leaves_unknown`: a write that says how it is undone may have happened, and this end leaves it so. The run that undoes is made here, and started only if the commit finds that something is owed.
    """
    if status is RunStatus.ANSWERED or run.id != run.correlation_id:
        return LISTED if leaves_unknown else NO_SAGA
    cause = cause_of(status, error)
    keeps = cause in BY_WORD and on_failure.get("on_stop") == "keep"
    compensate = undoes_on_stop(on_failure) if cause in BY_WORD else undoes(on_failure)
    handoff = on_failure.get("handoff") or settings.LIYAGENT.saga_handoff
    is_asked = on_failure.get("handoff", "none") != "none" or not on_failure.get("compensate", True)
    child, seal, start = undo_child(run, round_number=1)
    facts = {
        "cause": cause,
        "failed_step": failed_step,
        "compensate": compensate,
        "handoff": "none" if keeps and cause in BY_PERSON else handoff,
        "always": is_asked and cause not in BY_PERSON,
        "unknown": leaves_unknown,
        "key_id": keyring().newest,
        "child": child,
    }
    return SagaRide(facts=facts, sealed=(_sealed(run, context), seal, start))


def on_failure_of(start: dict[str, Any]) -> dict[str, Any]:
    """Return what the workflow of a run says of failures, by the run's first part; `{}` for a run that is no workflow's."""
    pinned: dict[str, Any] = start.get("workflow", {})
    return dict(pinned.get("definition", {}).get("on_failure", {}))


def undoes(on_failure: dict[str, Any]) -> bool:
    """Whether what a failed run did is undone by itself (SG-10)."""
    return bool(on_failure.get("compensate", True))


def undoes_on_stop(on_failure: dict[str, Any]) -> bool:
    """Whether that is so where a person, or a cap, ended it (ruling 43)."""
    return undoes(on_failure) and on_failure.get("on_stop") != "keep"


def cause_of(status: RunStatus, error: EndError) -> str:
    """Return why a run's writes are undone: `failed`, `stopped`, `rejected` or `cap`."""
    if status is RunStatus.STOPPED:
        return STOPPED
    if error is EndError.REJECTED:
        return REJECTED
    return CAP if error.value.startswith("cap.") else FAILED


def given_to(start: dict[str, Any]) -> dict[str, Any]:
    """Return, of the first part of a run, what it was given, so that another can begin again with the same.

    A workflow's `workflow` and `input`, an agent's `task` and `history`.
    """
    if "workflow" in start:
        return {"workflow": start["workflow"]["key"], "input": start["workflow"]["input"]}
    return {"task": start["task"], "history": start["history"]}


def _sealed(run: Run, context: dict[str, Any] | None) -> bytes | None:
    if context is None:
        return None
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=run.id, format_number=FORMAT)
    return sealer.seal(context, kind=CONTEXT, number=0)
