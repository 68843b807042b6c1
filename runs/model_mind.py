"""A model decides: it is asked for a step, only once the last one's results are all there (CR-15)."""

from __future__ import annotations

from dataclasses import replace

from liyagent.core.errors import BadInput
from liyagent.gateway.contracts import contracts_for
from liyagent.providers.types import (
    Message,
    ModelAnswer,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolSpec,
)
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import span
from runs.ask import NotAsked, ask_model
from runs.attempt import Attempt
from runs.authority import AgentNow
from runs.caps import check_steps
from runs.conversation import messages_of
from runs.ending import Ending, MayNotGoOn, ending_of, failed
from runs.endings import EndError
from runs.guard import heed_given, screen_answer, screen_given
from runs.step import count_step


class ModelMind:
    """Asks the model of the run's agent, as it stands at each step."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def begin(self, agent: AgentNow) -> None:
        """Take the conversation up as the input checks of today leave it. Raises `MayNotGoOn` where one refuses it."""
        take_up(self._attempt, agent)

    def next(self) -> ModelAnswer | Ending:
        """Return the model's answer if it asks for calls, else how the run ends with it."""
        answer = self._ask()
        if answer.calls:
            return answer
        self._attempt.messages.append(Message(role=Role.ASSISTANT, text=answer.text))
        return ending_of(answer)

    def _ask(self) -> ModelAnswer:
        """One model step, asked only when the last one's results are all there."""
        agent = self._attempt.may_go_on()
        self._attempt.check(check_steps, agent)
        with span(Kind.MODEL_CALL, agent.model) as asking:
            if asking:
                asking.tell(operation="chat", model=agent.model, provider=agent.provider)
            try:
                answer = self._answer(agent)
            except NotAsked as handed_over:
                raise self._attempt.handed_over() from handed_over
            except (ModelUnavailable, ModelRejected, BadInput) as error:
                is_for_now = isinstance(error, ModelUnavailable)
                code = EndError.MODEL_UNAVAILABLE if is_for_now else EndError.MODEL_REJECTED
                asking.fail(code.value)
                told = f"model {agent.model} gave no answer: {error}"
                raise MayNotGoOn(failed(code, told)) from error
            return self._accepted(agent, answer)

    def _accepted(self, agent: AgentNow, answer: ModelAnswer) -> ModelAnswer:
        """The answer as guardrails leave it, counted. One that they or a hook refuse counts too, and is not kept."""
        try:
            screened = screen_answer(agent, answer, tell=self._attempt.tell_acted)
            if agent.hooks:
                self._attempt.hooks(agent).after_model(screened)
        except MayNotGoOn:
            count_step(self._attempt.checkpoint, replace(answer, text=""), model=agent.model)
            raise
        count_step(self._attempt.checkpoint, screened, model=agent.model)
        return screened

    def _answer(self, agent: AgentNow) -> ModelAnswer:
        contracts = contracts_for(agent.tool_patterns, version=self._attempt.checkpoint.config)
        steps_taken, run_id = self._attempt.checkpoint.counters.steps, str(self._attempt.run.id)
        tools = tuple(
            ToolSpec(name=it.name, description=it.description, schema=it.schema)
            for it in contracts.values()
        )
        if agent.hooks:
            asked = ModelRequest(
                model=agent.model,
                messages=tuple(self._attempt.messages),
                tools=tools,
                steps_taken=steps_taken,
                run_id=run_id,
            )
            self._attempt.hooks(agent).before_model(asked)
        return ask_model(
            agent,
            messages=self._attempt.messages,
            tools=tools,
            steps_taken=steps_taken,
            run_id=run_id,
            is_unwanted=lambda: (
                self._attempt.carrier.give_up() or self._attempt.carrier.hand_over()
            ),
        )


def take_up(attempt: Attempt, agent: AgentNow) -> None:
    """Let an attempt go on with the conversation that its parts tell, and tell of its start where nobody has yet."""
    checkpoint = attempt.checkpoint
    messages = messages_of(checkpoint.parts, instructions=agent.instructions)
    given = screen_given(checkpoint.parts[0], agent, messages)
    attempt.tell_start(given)
    heed_given(given, tell=attempt.tell_acted)
    attempt.messages = given.messages
    attempt.kept = len(messages)
