"""A call approved after its run went on is made by a run of its own, whose one step is that call."""

from __future__ import annotations

from django.db import connection

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.ids import new_id
from liyagent.core.seal import tag_of
from liyagent.providers.types import Finish, Message, ModelAnswer, ToolCall
from runs.checkpoint import START, STEP, keyring, seal_head, sealer_of, started_as
from runs.conversation import start_part, step_part
from runs.ending import Ending, failed
from runs.endings import EndError
from runs.errors import CheckpointBroken
from runs.family import CHAIN
from runs.file_call import intent_of
from runs.hot import Counters
from runs.marks import SealedMark, open_mark
from runs.models import Call, Run, RunStatus

LOOP, UNDO_KEY = "approved:", "undo_key"
BEGIN = "SELECT liyagent_start_approved(%s, %s, %s, %s, %s::smallint, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


def loop_of(approval_id: object) -> str:
    """Return the loop of the run that makes the call of a request."""
    return f"{LOOP}{approval_id}"


def is_approved_run(run: Run) -> bool:
    """Whether a run is one that makes an approved call and asks no model."""
    return run.loop.startswith(LOOP)


def begin_approved_run(approval: Approval) -> None:
    """Start it in the transaction of the decision, if that approved and the run of the call does not wait.

    Raises `SealBroken`, `KeyMissing`, `CheckpointBroken`, also for a call that is another request's: then nothing is
    decided.
    """
    if approval.status != ApprovalStatus.APPROVED or approval.run_waits:
        return
    asked_in = Run.objects.filter(id=approval.run_id).first()
    row = Call.objects.filter(
        run_id=approval.run_id, step=approval.step, index=approval.index
    ).first()
    if asked_in is None or row is None:
        raise CheckpointBroken("the call that this request names is not kept any more; withdraw it")
    mark = open_mark(sealer_of(asked_in), row)
    if mark.approval != str(approval.id):
        raise CheckpointBroken("the call that this request names is not the one it was filed for")
    asked_by = Run(
        correlation_id=asked_in.correlation_id,
        agent_key=mark.agent or asked_in.agent_key,
        entry=asked_in.entry,
        mission=asked_in.mission,
    )
    if _whose(approval, approval.requested_by) != _whose(asked_by, asked_in.started_by):
        raise CheckpointBroken("this request is not of the run that it names")
    run = _run_of(approval, asked_in)
    sealer = sealer_of(run)
    start = start_part(
        task=f"Make the call {approval.name}, as approved by {approval.decided_by}.",
        history=[],
        run=started_as(run),
    )
    if mark.chain:
        start[CHAIN] = list(mark.chain)
    if mark.undo_key:
        start[UNDO_KEY] = mark.undo_key
    first = sealer.seal(start, kind=START, number=0)
    second = sealer.seal(
        step_part(_step(approval, mark), []), kind=STEP, number=1, previous=tag_of(first)
    )
    seal = seal_head(
        sealer,
        sequence=0,
        counters=Counters(steps=1, calls=1),
        parts=2,
        last_tag=tag_of(second),
        open_marks={(1, 0)},
        settled=set(),
        held={(1, 0)},
    )
    values = (
        run.id, approval.id, run.agent_version, run.recording, run.format, run.key_id, seal, first, second,
        str(approval.id), mark.payload.key, mark.key_window_seconds, intent_of(mark.payload), mark.seal(sealer, step=1, index=0),
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(BEGIN, values)


def _whose(row: Approval | Run, starter: str) -> tuple[object, ...]:
    return row.correlation_id, row.agent_key, row.entry, row.mission, starter


def ending_of_call(told: Message) -> Ending:
    """Return how such a run ends: with what its model would have been told of the call."""
    if told.is_error:
        return failed(EndError.APPROVED_CALL, told.text)
    return Ending(status=RunStatus.ANSWERED, answer=told.text)


def _run_of(approval: Approval, asked_in: Run) -> Run:
    agent = Agent.objects.filter(key=approval.agent_key).only("version").first()
    return Run(
        id=new_id(),
        correlation_id=approval.correlation_id,
        parent_id=approval.run_id,
        loop=loop_of(approval.id),
        agent_key=approval.agent_key,
        agent_version=agent.version if agent else asked_in.agent_version,
        entry=approval.entry,
        mission=approval.mission,
        started_by=approval.requested_by,
        recording=asked_in.recording,
        key_id=keyring().newest,
    )


def _step(approval: Approval, mark: SealedMark) -> ModelAnswer:
    args = {name: value for name, value in mark.payload.args.items() if value != mark.payload.key}
    call = ToolCall(id=str(approval.id), name=approval.name, arguments_text="", args=args)
    return ModelAnswer(text="", calls=(call,), finish=Finish.CALLS)
