"""Carry one attempt of a run: ask the model, write ahead, make the calls, until it ends or goes back to the queue.

Only steps after the last one written are asked of the model (CR-15); the calls that the last step left
are routed again through every gate as it stands now, or settled as their marks say (CR-14).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from liyagent.core.errors import BadInput
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.active import active_policy
from liyagent.gateway.call import make_call
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Call, Outcome
from liyagent.gateway.policies import PolicySet
from liyagent.providers.types import (
    Finish,
    Message,
    ModelAnswer,
    ModelRejected,
    ModelUnavailable,
    Role,
    ToolSpec,
)
from runs import hot
from runs.ask import NotAsked, ask_model
from runs.authority import AgentNow, agent_now, refusal_of, starter_refusal
from runs.checkpoint import STEP, Checkpoint, Stored, open_checkpoint
from runs.conversation import Pending, messages_of, pending_of, result_message, step_part
from runs.endings import EndError
from runs.errors import CheckpointBroken
from runs.finish import end_run, end_unopened
from runs.in_doubt import Settlement
from runs.models import RunStatus
from runs.requested import requested_call
from runs.resume import Left, left_by, record_resume
from runs.scope import RunScope

logger = logging.getLogger(__name__)

MOST_LOSSES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The process that carries the run: `give_up`, the attempt is lost here; `hand_over`, the process drains."""

    holder: str
    give_up: Callable[[], bool]
    hand_over: Callable[[], bool]


class HandedBack(Exception):
    """The run went back to the queue: the process drains, or a read-back has to wait for its time."""


class Ended(Exception):
    """The run ended in the middle of a step: it was stopped, or may not go on."""


def carry_run(stored: Stored, carrier: Carrier) -> None:
    """Carry an attempt just taken until it ends or is handed back.

    Raises `LostLease` where another process has taken it over, `KeyMissing` where its key is not here.
    """
    run = stored.run
    if run.losses > MOST_LOSSES:
        reason = (
            f"lost {run.losses} times, more than {MOST_LOSSES}: it may be what ends its processes"
        )
        end_unopened(run, reason=reason, error=EndError.LOST)
        return
    try:
        checkpoint = open_checkpoint(stored, give_up=carrier.give_up)
    except KeyMissing:
        if not run.stop_requested:
            raise
        reason = hot.stopped_by(run.id, give_up=carrier.give_up)
        end_unopened(run, status=RunStatus.STOPPED, reason=reason, error=EndError.STOPPED)
        return
    except (SealBroken, CheckpointBroken) as error:
        logger.error("checkpoint does not verify: %s", error)
        end_unopened(
            run,
            reason=f"its checkpoint does not verify: {error}",
            error=EndError.CHECKPOINT_BROKEN,
        )
        return
    try:
        Attempt(checkpoint, carrier).carry()
    except HandedBack:
        logger.info("run goes back to the queue")
    except Ended:
        logger.info("run ended in the middle of a step")


class Attempt:
    """One attempt: the conversation so far, and what the process may do with it."""

    def __init__(self, checkpoint: Checkpoint, carrier: Carrier) -> None:
        """Start from what the checkpoint holds."""
        self.checkpoint = checkpoint
        self.carrier = carrier
        self.run = checkpoint.run
        self.messages: list[Message] = []

    def carry(self) -> None:
        """Go on from the last step written."""
        agent = self._agent()
        if self.run.attempt > 1 and (refusal := starter_refusal(self.run)):
            self._end(RunStatus.FAILED, reason=refusal, error=EndError.STARTER_REFUSED)
            return
        self.messages = messages_of(self.checkpoint.parts, instructions=agent.instructions)
        pending = pending_of(self.checkpoint.parts)
        if pending is None and self.run.attempt == 1:
            self._tell_start()
        results = self._resume(pending)
        while True:
            answer = self._ask(results)
            if not answer.calls:
                self._end_with(answer)
                return
            pending = self._write_step(answer, results)
            results = self._make_calls(pending)

    def _tell_start(self) -> None:
        start = self.checkpoint.parts[0]
        self.checkpoint.events.add(
            "run.started",
            agent=self.run.agent_key,
            version=self.run.agent_version,
            entry=self.run.entry,
            started_by=self.run.started_by,
            holder=self.carrier.holder,
            task=self.checkpoint.events.words(start["task"]),
        )

    def _resume(self, pending: Pending | None) -> list[Message]:
        """Settle what the attempt before left, having told how before anything is done."""
        if pending is None:
            self._record(left=[], step=0)
            return []
        scope = self._scope(pending)
        verdicts = [judge(call, self._policy()) for call in self._calls(pending)]
        left = left_by(scope, verdicts)
        self._record(left=left, step=pending.step)
        return [
            result_message(asked, self._settle_left(scope, it))
            for asked, it in zip(pending.calls, left, strict=True)
        ]

    def _record(self, *, left: list[Left], step: int) -> None:
        record_resume(self.checkpoint, left, step=step, holder=self.carrier.holder)

    def _settle_left(self, scope: RunScope, left: Left) -> Outcome:
        call = left.verdict.call
        if left.row is None:
            return self._make_call(scope, call)
        scope.keys[call.index] = left.row.step_key
        if left.settlement is None:
            return scope.outcome_of(left.row)
        payload = scope.payload_of(left.row)
        if left.settlement is Settlement.READ_BACK:
            self._wait_until_settled()
        outcome = scope.carry_out(left.settlement, left.verdict, payload)
        scope.settle(left.verdict, payload, outcome)
        return outcome

    def _wait_until_settled(self) -> None:
        """A read-back waits, without a thread, until no earlier attempt can send any more (ruling 6)."""
        until = self.run.settle_after
        if until is not None and hot.database_now(self.carrier.give_up) < until:
            self._release(is_handover=False, until_settled=True)

    def _release(self, *, is_handover: bool, until_settled: bool) -> None:
        checkpoint = self.checkpoint
        if is_handover:
            checkpoint.events.add("run.handed_over", holder=self.carrier.holder)
        hot.release(
            checkpoint.next_fence(),
            seal=checkpoint.head_seal(),
            is_handover=is_handover,
            until_settled=until_settled,
            events=checkpoint.events.taken(),
            give_up=self.carrier.give_up,
        )
        raise HandedBack

    def _make_calls(self, pending: Pending) -> list[Message]:
        """Carry out the step's calls in order; one result each (FL-49)."""
        scope = self._scope(pending)
        return [
            result_message(asked, self._make_call(scope, call))
            for asked, call in zip(pending.calls, self._calls(pending), strict=True)
        ]

    def _make_call(self, scope: RunScope, call: Call) -> Outcome:
        self._may_go_on()
        return make_call(call, scope, policy=self._policy())

    def _may_go_on(self) -> AgentNow:
        """Between two calls: honour a Stop, containment and a drain, as the last statement told of them."""
        if self.checkpoint.stop:
            reason = hot.stopped_by(self.run.id, give_up=self.carrier.give_up)
            self._end(RunStatus.STOPPED, reason=reason, error=EndError.STOPPED)
            raise Ended
        if self.carrier.hand_over():
            self._release(is_handover=True, until_settled=False)
        return self._agent()

    def _agent(self) -> AgentNow:
        """The agent as it stands at the newest configuration this attempt was told of."""
        agent = agent_now(self.run.agent_key, config=self.checkpoint.config)
        refusal = refusal_of(self.run, agent)
        if refusal is not None or agent is None:
            error, reason = refusal or (EndError.AGENT_GONE, "")
            self._end(RunStatus.FAILED, reason=reason, error=error)
            raise Ended
        return agent

    def _policy(self) -> PolicySet:
        return active_policy(version=self.checkpoint.config)

    def _scope(self, pending: Pending) -> RunScope:
        return RunScope(
            self.checkpoint, step=pending.step, step_ids=[it.id for it in pending.calls]
        )

    def _calls(self, pending: Pending) -> list[Call]:
        """The step's calls as today's agent and contracts have them; one marked as a write stays one (CR-25)."""
        agent = self._agent()
        contracts = contracts_for(agent.tool_patterns, version=self.checkpoint.config)
        marks = self.checkpoint.marks
        return [
            requested_call(
                asked,
                index=index,
                pending=pending,
                contracts=contracts,
                asker=agent.asker(self.run),
                was_write=(pending.step, index) in marks,
            )
            for index, asked in enumerate(pending.calls)
        ]

    def _ask(self, results: list[Message]) -> ModelAnswer:
        """One model step, asked only when the last one's results are all there."""
        agent = self._may_go_on()
        if self.checkpoint.counters.steps >= agent.max_steps:
            self._end(
                RunStatus.FAILED,
                reason=f"the cap of {agent.max_steps} model steps was reached",
                error=EndError.CAP_STEPS,
            )
            raise Ended
        self.messages += results
        try:
            answer = self._answer(agent)
        except NotAsked:
            self._release(is_handover=True, until_settled=False)
            raise
        except (ModelUnavailable, ModelRejected, BadInput) as error:
            is_for_now = isinstance(error, ModelUnavailable)
            self._end(
                RunStatus.FAILED,
                reason=f"model {agent.model} gave no answer: {error}",
                error=EndError.MODEL_UNAVAILABLE if is_for_now else EndError.MODEL_REJECTED,
            )
            raise Ended from error
        self._count(answer)
        return answer

    def _answer(self, agent: AgentNow) -> ModelAnswer:
        contracts = contracts_for(agent.tool_patterns, version=self.checkpoint.config)
        return ask_model(
            agent,
            messages=self.messages,
            tools=tuple(
                ToolSpec(name=it.name, description=it.description, schema=it.schema)
                for it in contracts.values()
            ),
            steps_taken=self.checkpoint.counters.steps,
            run_id=str(self.run.id),
            is_unwanted=lambda: self.carrier.give_up() or self.carrier.hand_over(),
        )

    def _count(self, answer: ModelAnswer) -> None:
        counters = self.checkpoint.counters
        self.checkpoint.counters = replace(
            counters,
            steps=counters.steps + 1,
            calls=counters.calls + len(answer.calls),
            input_tokens=counters.input_tokens + answer.input_tokens,
            output_tokens=counters.output_tokens + answer.output_tokens,
        )
        words = self.checkpoint.events.words
        self.checkpoint.events.add(
            "step",
            step=counters.steps + 1,
            finish=answer.finish.value,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            calls=[it.name for it in answer.calls],
            text=words(answer.text),
        )

    def _write_step(self, answer: ModelAnswer, results: list[Message]) -> Pending:
        """Write ahead: the answer and the calls it asks for, before any of them is made (CR-09)."""
        checkpoint = self.checkpoint
        part = step_part(answer, results)
        number = len(checkpoint.parts)
        sealed = checkpoint.sealer.seal(
            part, kind=STEP, number=number, previous=checkpoint.last_tag
        )
        checkpoint.add_part(part, sealed)
        told = hot.write_step(
            checkpoint.next_fence(),
            seal=checkpoint.head_seal(),
            counters=checkpoint.counters,
            part=number,
            sealed=sealed,
            events=checkpoint.events.taken(),
            give_up=self.carrier.give_up,
        )
        checkpoint.events.clear()
        checkpoint.written(told)
        self.messages.append(Message(role=Role.ASSISTANT, text=answer.text, calls=answer.calls))
        return Pending(
            step=checkpoint.counters.steps,
            calls=answer.calls,
            was_cut=answer.finish is Finish.CUT,
        )

    def _end_with(self, answer: ModelAnswer) -> None:
        """A final answer; an empty one, a cut one and a refusal are outcomes of their own (ruling 20)."""
        self.messages.append(Message(role=Role.ASSISTANT, text=answer.text))
        if answer.finish is Finish.REFUSED:
            self._end(
                RunStatus.DECLINED,
                reason="the model refused",
                error=EndError.DECLINED,
                answer=answer.text,
            )
        elif answer.finish is Finish.CUT:
            self._end(
                RunStatus.FAILED,
                reason="the model's answer was cut at its token limit",
                error=EndError.ANSWER_CUT,
                answer=answer.text,
            )
        elif not answer.text.strip():
            self._end(
                RunStatus.FAILED,
                reason="the model's answer was empty",
                error=EndError.ANSWER_EMPTY,
            )
        else:
            self._end(RunStatus.ANSWERED, reason="", answer=answer.text)

    def _end(
        self, status: RunStatus, *, reason: str, error: EndError = EndError.NONE, answer: str = ""
    ) -> None:
        end_run(
            self.checkpoint,
            status=status,
            reason=reason,
            error=error,
            answer=answer,
            messages=self.messages,
        )
