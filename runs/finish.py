"""End a run: status, reason, transcript, audit and last events in one commit."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from liyagent.agents.models import Recording
from liyagent.core.errors import LiyagentError
from liyagent.core.metrics import RUNS_ENDED
from liyagent.core.traceparent import TRACEPARENT
from liyagent.providers.types import Message, Role
from liyagent.telemetry.spans import run_span
from runs import hot
from runs.behind_end import look_behind
from runs.checkpoint import Checkpoint, Stored, counters_of, first_part, sealer_of, started_as
from runs.endings import EndError
from runs.event_buffer import event_buffer
from runs.failed_saga import AGAIN, failed_saga, given_to, on_failure_of
from runs.handing import tell_unheard
from runs.models import Run, RunStatus
from runs.tell_start import add_start

TRANSCRIPT = "transcript"
FULL = Recording.FULL.value
WENT_WRONG = frozenset({RunStatus.FAILED, RunStatus.INTERRUPTED})


def end_run(
    checkpoint: Checkpoint,
    *,
    status: RunStatus,
    reason: str,
    error: EndError,
    answer: str,
    unkept: list[Message],
    failed_step: str = "",
    context: dict[str, Any] | None = None,
) -> None:
    """End a run whose checkpoint is open. Open marks become unknown, with a late look (ruling 9).

    What a root run did is undone where it was not answered: `context` is for the person that it is handed to.

    `unkept` are the messages that its parts do not hold. The parts of a run recorded in full stay: with these
    they are its transcript, and no word is written twice.
    """
    words = checkpoint.events.words
    tell_unheard(checkpoint)
    open_calls = [list(place) for place in sorted(checkpoint.open_marks)]
    checkpoint.events.add(
        "run.ended",
        status=status.value,
        reason=reason,
        error=error.value,
        steps=checkpoint.counters.steps,
        calls=checkpoint.counters.calls,
        input_tokens=checkpoint.counters.input_tokens,
        output_tokens=checkpoint.counters.output_tokens,
        cost_micros=checkpoint.counters.cost_micros,
        unsettled=open_calls,
        answer=words(answer),
    )
    sent = checkpoint.open_marks - checkpoint.held
    leaves_unknown = bool(checkpoint.declared & sent)
    checkpoint.open_marks.clear()
    checkpoint.held.clear()
    hot.finish(
        checkpoint.next_fence(),
        seal=checkpoint.head_seal(),
        status=status.value,
        reason=reason,
        error=error.value,
        counters=checkpoint.counters,
        transcript=checkpoint.sealer.seal(
            _transcript(checkpoint, error, answer=answer, unkept=unkept), kind=TRANSCRIPT, number=0
        ),
        late_look_seconds=settings.LIYAGENT.late_look_seconds,
        audit=_ended(status, reason, unsettled=open_calls),
        saga=failed_saga(
            checkpoint.run,
            status=status,
            error=error,
            failed_step=failed_step,
            on_failure=on_failure_of(checkpoint.parts[0]),
            leaves_unknown=leaves_unknown,
            context=None if context is None else {**context, AGAIN: given_to(checkpoint.parts[0])},
        ),
        events=checkpoint.events.taken(),
        give_up=checkpoint.give_up,
    )
    RUNS_ENDED.of(status.value, error.value or "none").inc()
    asked_in = str(checkpoint.parts[0].get(TRACEPARENT, ""))
    _tell_span(
        checkpoint.run,
        checkpoint.counters,
        status,
        error,
        reason=reason,
        answer=answer,
        asked_in=asked_in,
    )
    look_behind(checkpoint.run, status)


def end_unopened(
    stored: Stored,
    *,
    holder: str,
    reason: str,
    error: EndError,
    status: RunStatus = RunStatus.FAILED,
) -> None:
    """End a run whose checkpoint is not, or cannot be, opened: nothing of it is sent, no vendor is touched."""
    conf, run = settings.LIYAGENT, stored.run
    # Nobody carries it: what was told in this attempt, if anything was, is not known here.
    events = event_buffer(run)
    if not stored.is_start_told:
        add_start(events, run, holder=holder)
    events.add(
        "run.ended",
        status=status.value,
        reason=reason,
        error=error.value,
        steps=run.model_steps,
        losses=run.losses,
    )
    hot.finish(
        hot.Fence(run_id=run.id, attempt=run.attempt, sequence=run.sequence + 1),
        seal=bytes(run.seal),
        status=status.value,
        reason=reason,
        error=error.value,
        counters=counters_of(run),
        transcript=_told_failed(run, reason),
        late_look_seconds=conf.late_look_seconds,
        audit=_ended(status, reason, losses=run.losses),
        saga=_saga_unopened(stored, reason, status=status, error=error),
        events=events.taken(),
        give_up=lambda: False,
    )
    RUNS_ENDED.of(status.value, error.value or "none").inc()
    _tell_span(run, counters_of(run), status, error, reason=reason)
    look_behind(run, status)


def _saga_unopened(
    stored: Stored, reason: str, *, status: RunStatus, error: EndError
) -> hot.SagaRide:
    """As its first part says, where that opens; what it did is undone in any case."""
    run = stored.run
    start = first_part(stored)
    context = {"error": reason, "failed_step": "", "attempts": run.attempt}
    return failed_saga(
        run,
        status=status,
        error=error,
        failed_step="",
        on_failure=on_failure_of(start),
        leaves_unknown=False,
        context={**context, AGAIN: given_to(start)} if start else None,
    )


def _tell_span(
    run: Run,
    counters: hot.Counters,
    status: RunStatus,
    error: EndError,
    *,
    reason: str,
    answer: str = "",
    asked_in: str = "",
) -> None:
    """The span of the run itself, from its start on; written here alone, by whoever ended it."""
    with run_span(run, asked_in=asked_in) as told:
        if not told:
            return
        told.tell(
            operation="invoke_agent",
            status=status.value,
            entry=run.entry,
            losses=run.losses,
            steps=counters.steps,
            input_tokens=counters.input_tokens,
            output_tokens=counters.output_tokens,
        )
        told.tell_words(answer=answer, reason=reason)
        if status in WENT_WRONG:
            told.fail(error.value or status.value)


def _told_failed(run: Run, reason: str) -> bytes | None:
    """The transcript of a run that could not be opened says why; without its key there is none."""
    try:
        sealer = sealer_of(run)
    except LiyagentError:
        return None
    told = {"answer": "", "messages": [], "reason": reason}
    return sealer.seal(told, kind=TRANSCRIPT, number=0)


def _ended(status: RunStatus, reason: str, **facts: Any) -> hot.Audit:
    return hot.Audit(
        action="agent.run.ended", detail={"status": status.value, "reason": reason, **facts}
    )


def _transcript(
    checkpoint: Checkpoint, error: EndError, *, answer: str, unkept: list[Message]
) -> dict[str, Any]:
    """What the parts do not hold, and how many they are, where words are kept; else the answer alone.

    That its asker still has to read. A task that a guardrail refused is not kept. `run` is whose it is: a row that is made
    to look like a child's has no answer for a parent.
    """
    kept = {"answer": answer, "run": started_as(checkpoint.run)}
    if checkpoint.run.recording != FULL or error is EndError.GUARDRAIL_INPUT:
        return {**kept, "messages": []}
    return {
        **kept,
        "after_parts": [told_message(it) for it in unkept],
        "parts": len(checkpoint.parts),
    }


def told_message(message: Message) -> dict[str, Any]:
    """Return a message as a transcript shows it."""
    told: dict[str, Any] = {"role": message.role.value, "text": message.text}
    if message.calls:
        told["calls"] = [
            {"id": it.id, "tool": it.name, "args": it.args, "arguments_text": it.arguments_text}
            for it in message.calls
        ]
    if message.role is Role.TOOL:
        told |= {"call_id": message.call_id, "is_error": message.is_error}
    return told
