"""One attempt of a run: write ahead, make the calls through the gates, settle what was left, end or hand back.

The calls that the last step left are routed again through every gate as it stands now, or settled as their
marks say (CR-14).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from django.db import DatabaseError

from liyagent.agents.guardrails import Acted
from liyagent.gateway.active import active_policy
from liyagent.gateway.call import WIRE, Way, make_call
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Asker, Call, Outcome, Scope, Verdict
from liyagent.gateway.policies import PolicySet
from liyagent.providers.types import Message, ModelAnswer, Role
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import NOTHING, Telling, span
from runs import hot
from runs.ahead import NOTHING_AHEAD, judge_ahead
from runs.approved_run import is_approved_run
from runs.authority import AgentNow, agent_now, refusal_of
from runs.caps import check_calls, check_time
from runs.checkpoint import Checkpoint
from runs.conversation import Pending, pending_of
from runs.delegate import answer_of_child
from runs.dispatch import ToJudgeAgain, answer_held, scope_for
from runs.ending import Ending, HandedBack, MayNotGoOn, failed
from runs.endings import EndError
from runs.family import (
    as_carried,
    asker_of,
    chain_of,
    family_if_any,
    family_of,
    refusal_above,
)
from runs.finish import end_run
from runs.guard import Given, tell_acted
from runs.hooking import Hooks
from runs.hot import Counters
from runs.in_doubt import Settlement
from runs.manner import Manner
from runs.models import Call as MarkedCall
from runs.models import Run, RunStatus
from runs.requested import requested_call
from runs.resume import Left, left_by, record_resume
from runs.scope import RunScope
from runs.step import asked_for, tell_step, write_step
from runs.suspend import give_back
from runs.tell_start import tell_start
from runs.undo_run import is_undo_run
from runs.waited import seconds_waited


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The process that carries the run: `give_up`, the attempt is lost here; `hand_over`, the process drains."""

    holder: str
    give_up: Callable[[], bool]
    hand_over: Callable[[], bool]


class Attempt:
    """One attempt: the conversation so far, and what the process may do with it. What comes next a `Mind` decides.

    What leaves goes by its `way`; what is kept goes by `tell_start`, `tell_acted`, `keep_step`, `handed_over`: a replay has
    others (RP-04).
    """

    is_replay = False

    def __init__(self, checkpoint: Checkpoint, carrier: Carrier, *, way: Way = WIRE) -> None:
        """Start from what the checkpoint holds."""
        self.checkpoint = checkpoint
        self.way = way
        self.run = checkpoint.run
        # Who was not written ahead cannot go on elsewhere: it is carried to its end, or to the end of its process.
        self.carrier = (
            carrier if self.run.is_written_ahead else replace(carrier, hand_over=lambda: False)
        )
        self.messages: list[Message] = []
        # How many of them the stored parts hold.
        self.kept = 0
        self.ahead = NOTHING_AHEAD
        self.manner = Manner()
        # What came of the call that was heard of last.
        self.last: Outcome | None = None
        self.last_id = ""
        self.family = None if is_approved_run(self.run) else family_if_any(checkpoint)

    @property
    def chain(self) -> tuple[str, ...]:
        """The agents that handed this work down, from the root's on."""
        return chain_of(self.checkpoint)

    def resume(self) -> None:
        """Settle what the attempt before left, having told how before anything is done."""
        pending = pending_of(self.checkpoint.parts)
        with span(Kind.RESUME) if self.run.attempt > 1 else NOTHING as told:
            left: list[Left] = []
            if pending is not None:
                scope = self._scope(pending)
                left = left_by(scope, [judge(it, self._policy()) for it in self._calls(pending)])
            if told:
                told.tell(losses=self.run.losses, cause=self.run.last_loss, left=len(left))
            step = pending.step if pending is not None else 0
            record_resume(self.checkpoint, left, step=step, holder=self.carrier.holder)
        for it in left:
            with _call_span(it.verdict.call):
                self._settle_left(scope, it)

    def _settle_left(self, scope: RunScope, left: Left) -> None:
        call = left.verdict.call
        if call.name in self.manner.own:
            self._look(scope, call, left.row)
            return
        if left.row is None:
            self._make_call(scope, call)
            return
        scope.keys[call.index] = left.row.step_key
        if left.settlement is None:
            self._hear(call, scope.outcome_of(left.row))
            return
        if left.settlement is Settlement.ROUTED_TO_ITS_APPROVAL:
            self._answer_held(scope, call, left.row)
            return
        if left.settlement is Settlement.ASKED_BY_DELEGATION_KEY:
            # A Stop comes after it: those below were stopped with this run, and a family ends from below.
            self._hear_child(scope_for(scope, left.row), left.verdict, left.row)
            return
        if left.settlement is Settlement.READ_BACK:
            self._wait_until_settled()
        scope = scope_for(scope, left.row)
        payload = scope.payload_of(left.row)
        outcome = scope.carry_out(left.settlement, left.verdict, payload)
        scope.settle(left.verdict, payload, outcome)
        self._hear(call, outcome)

    def _answer_held(self, scope: RunScope, call: Call, row: MarkedCall) -> None:
        """A call that waits for a person, by the agent, the rights and the policies that the last statement told of."""
        while True:
            # Nothing of it is on its way: a Stop, containment and a drain come before a look, and before more sleep.
            agent = self.may_go_on()
            call = self._as_it_stands(call, agent)
            hooks = self.hooks(agent)
            try:
                outcome = answer_held(
                    scope, call, row, policy=self._policy(), ask_first=hooks.before_call
                )
            except ToJudgeAgain:
                continue
            self._hear(call, outcome)
            hooks.after_call(call, outcome)
            return

    def _hear_child(self, scope: RunScope, verdict: Verdict, row: MarkedCall) -> None:
        """What came of work that was handed down; its caps' use is counted from here on."""
        outcome = replace(
            answer_of_child(self.checkpoint, row),
            settlement=Settlement.ASKED_BY_DELEGATION_KEY.value,
        )
        self.family = family_of(self.checkpoint)
        scope.settle(verdict, scope.payload_of(row), outcome)
        self._hear(verdict.call, outcome)
        self.hooks(self.agent()).after_call(verdict.call, outcome)

    def _hear(self, call: Call, outcome: Outcome) -> None:
        """Add what the model is told of a call: exactly one message a call, in order (FL-49)."""
        self.last, self.last_id = outcome, call.provider_call_id
        self.messages.append(self.manner.told(call, outcome))

    def _wait_until_settled(self) -> None:
        """A read-back waits, without a thread, until no earlier attempt can send any more (ruling 6)."""
        until = self.run.settle_after
        if until is not None and hot.database_now(self.carrier.give_up) < until:
            raise give_back(self.checkpoint, until_settled=True)

    def handed_over(self) -> HandedBack:
        """Give the run back, since this process drains; raise what is returned."""
        return give_back(self.checkpoint, until_settled=False, handed_over_by=self.carrier.holder)

    def make(self, answer: ModelAnswer) -> None:
        """Write the next step ahead and carry out its calls, in order."""
        pending = self._write_step(answer)
        self._make_calls(pending)

    def _make_calls(self, pending: Pending) -> None:
        """Carry out the step's calls in order."""
        scope = self._scope(pending)
        is_as_seen = self.ahead.config == self.checkpoint.config
        for call in self.ahead.calls if is_as_seen else self._calls(pending):
            with _call_span(call):
                self._make_call(scope, call)

    def _make_call(self, scope: RunScope, call: Call) -> None:
        agent = self.may_call()
        if call.name in self.manner.own:
            self._look(scope, call, None)
            return
        self.route(scope, call, agent)

    def may_call(self) -> AgentNow:
        """As `may_go_on`, right before a call: the cap of calls too."""
        agent = self.may_go_on()
        if not is_undo_run(self.run):
            self.check(check_calls, agent)
        return agent

    def route(self, scope: Scope, call: Call, agent: AgentNow) -> None:
        """Put a call through hooks and gates, make it, and hear what came of it."""
        call = self._as_it_stands(call, agent)
        if not agent.hooks:
            self._hear(call, self._made(call, scope))
            return
        hooks = self.hooks(agent)
        # A refusal goes through the gates like any other: told, and with what data policies hide.
        refusal = hooks.before_call(call)
        judged = replace(call, problem=refusal) if refusal and not call.problem else call
        outcome = self._made(judged, scope)
        self._hear(call, outcome)
        hooks.after_call(call, outcome)

    def _made(self, call: Call, scope: Scope) -> Outcome:
        # A call that a hook refuses is another than the one that was judged ahead, and is judged anew.
        return make_call(
            call,
            scope,
            policy=self._policy(),
            judge=self.ahead.judge,
            send=self.way.send,
            open_way=self.way.open_way,
        )

    def _look(self, scope: RunScope, call: Call, row: MarkedCall | None) -> None:
        """A call of our own: an answer that is kept is heard again, any other is looked for."""
        if row is not None and row.fate:
            self._hear(call, scope.outcome_of(row))
            return
        if call.name not in self.manner.below:
            self.may_go_on()
        self._hear(call, self.manner.look(scope, call, row))

    def _as_it_stands(self, call: Call, agent: AgentNow) -> Call:
        """A call by the agent, the rights and the contract that the last statement told of (ruling 5)."""
        contracts = contracts_for(agent.tool_patterns, version=self.checkpoint.config)
        contract = self.manner.contract(contracts.get(call.name))
        return replace(call, asker=self._asker(agent), contract=contract)

    def may_go_on(self) -> AgentNow:
        """Between two calls: honour a Stop, containment and a drain, as the last statement told of them."""
        if self.checkpoint.stop:
            reason = hot.stopped_by(self.run.id, give_up=self.carrier.give_up)
            raise MayNotGoOn(
                Ending(status=RunStatus.STOPPED, reason=reason, error=EndError.STOPPED)
            )
        if self.carrier.hand_over():
            raise self.handed_over()
        agent = self.agent()
        now = self.checkpoint.database_time()
        self._check_time(agent, started=self.run.created_at, now=now)
        root = self._root()
        if root is not None and self.family is not None and self.family.started is not None:
            self._check_time(root, started=self.family.started, now=now)
        return agent

    def _check_time(self, agent: AgentNow, *, started: datetime, now: datetime) -> None:
        # What is owed bounds a round: under a cap, one that fails would keep the older ones from ever being made.
        if is_undo_run(self.run):
            return
        waited = partial(self.waited, started)
        check_time(agent, started=started, now=now, waited=waited)

    def waited(self, since: datetime) -> float:
        """Return for how long people were waited for."""
        return seconds_waited(self.checkpoint, since=since)

    def check(self, check: Callable[[AgentNow, Counters], None], agent: AgentNow) -> None:
        """Hold what was used against the agent's caps, and what its whole family used against the root's."""
        own = self.checkpoint.counters
        check(agent, own)
        if self.family is not None:
            root = self._root()
            check(root or agent, self.family.with_own(own))

    def _root(self) -> AgentNow | None:
        return agent_now(self.chain[0], config=self.checkpoint.config) if self.chain else None

    def agent(self) -> AgentNow:
        """The agent as it stands at the newest configuration this attempt was told of."""
        acting = self.checkpoint.acting
        agent = agent_now(acting, config=self.checkpoint.config)
        refusal = refusal_of(Run(agent_key=acting), agent)
        if refusal is None and self.chain:
            refusal = refusal_above(self.chain, config=self.checkpoint.config)
        if refusal is not None or agent is None:
            raise MayNotGoOn(failed(*(refusal or (EndError.AGENT_GONE, ""))))
        agent = as_carried(self.checkpoint, agent)
        if self.manner.may_wait is not None:
            return replace(agent, may_wait=self.manner.may_wait)
        # It was started as one that does not wait: there is nothing stored that it could come back from.
        return agent if self.run.is_written_ahead else replace(agent, may_wait=False)

    def _asker(self, agent: AgentNow) -> Asker:
        """What the gates know of the agent and the run, bound by those who handed it the work."""
        return asker_of(self.run, agent, chain=self.chain)

    def _policy(self) -> PolicySet:
        return active_policy(version=self.checkpoint.config)

    def _scope(self, pending: Pending) -> RunScope:
        return self.manner.scope(self.checkpoint, pending)

    def _calls(self, pending: Pending) -> list[Call]:
        """The step's calls as today's agent and contracts have them; one marked as a write stays one (CR-25)."""
        agent = self.agent()
        permitted = contracts_for(agent.tool_patterns, version=self.checkpoint.config)
        contracts = {**permitted, **self.manner.own} if self.manner.own else permitted
        marks = self.checkpoint.marks
        return [
            requested_call(
                asked,
                index=index,
                pending=pending,
                contracts=contracts,
                asker=self._asker(agent),
                was_write=(pending.step, index) in marks,
            )
            for index, asked in enumerate(pending.calls)
        ]

    def hooks(self, agent: AgentNow) -> Hooks:
        """The agent's hooks, for the step that stands. One that breaks at an undo keeps no older one from being made."""
        ends_run = not is_undo_run(self.run)
        return Hooks(
            self.run,
            agent,
            step=self.checkpoint.counters.steps,
            ends_run=ends_run,
            is_replay=self.is_replay,
        )

    def _write_step(self, answer: ModelAnswer) -> Pending:
        pending = asked_for(self.checkpoint, answer)
        self.keep_step(answer, pending)
        self.messages.append(Message(role=Role.ASSISTANT, text=answer.text, calls=answer.calls))
        return pending

    def keep_step(self, answer: ModelAnswer, pending: Pending) -> None:
        """Write the step ahead of its calls, which are judged meanwhile."""
        if not self.run.is_written_ahead:
            tell_step(self.checkpoint)
            return
        results = self.messages[self.kept :]
        write_step(self.checkpoint, answer, results, meanwhile=lambda: self._look_ahead(pending))
        # With the answer itself, which is heard of next.
        self.kept = len(self.messages) + 1

    def tell_start(self, given: Given | None = None) -> None:
        """Tell that the run was started, unless that is told; its task as the checks left it."""
        tell_start(self.checkpoint, holder=self.carrier.holder, given=given)

    def tell_acted(self, acted: Sequence[Acted]) -> None:
        """Tell which guardrails acted."""
        tell_acted(self.checkpoint, acted)

    def _look_ahead(self, pending: Pending) -> None:
        """Judge a step's calls while it is written; what hinders that is met again, and told, once it is."""
        try:
            calls, config = self._calls(pending), self.checkpoint.config
            self.ahead = judge_ahead(calls, self._policy(), config=config)
        except (MayNotGoOn, DatabaseError):
            self.ahead = NOTHING_AHEAD

    def end(self, ending: Ending) -> None:
        """End the run, wherever it stands."""
        self.tell_start()
        end_run(
            self.checkpoint,
            status=ending.status,
            reason=ending.reason,
            error=ending.error,
            answer=ending.answer,
            unkept=self.messages[self.kept :],
            failed_step=ending.step,
            context=self.manner.context(self.checkpoint, ending),
        )


def _call_span(call: Call) -> Telling:
    """The span of a call, ended once it is settled. A tool that does not exist has a name of the model's making: words."""
    return span(Kind.TOOL_CALL, call.name if call.contract is not None else "")
