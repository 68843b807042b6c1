"""Guardrails around the model: what a run was given before its first step, and each text of the model before it is kept.

Task and history are masked before they are sealed (`masked_start`); a check that refuses ends the run before the
model is asked. Each attempt looks again, with the guardrails as they stand then. What acted is told by name, in
the audit and as an event; the words that were found never are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from liyagent.agents.guardrails import MASK, Acted, Screened, screen
from liyagent.audit.record import record
from liyagent.providers.types import Message, ModelAnswer, Role
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import span
from runs.authority import AgentNow
from runs.checkpoint import Checkpoint
from runs.ending import MayNotGoOn, failed
from runs.endings import EndError
from runs.models import Run

ACTION = "agent.guardrail"
# What is done about checks that acted: told in the record of the run, unless that leaves none (RP-04).
Tell = Callable[[Sequence[Acted]], None]
ENDS = {"input": EndError.GUARDRAIL_INPUT, "output": EndError.GUARDRAIL_OUTPUT}


def masked_start(
    guardrails: dict[str, Any], *, task: str, turns: list[dict[str, str]]
) -> tuple[str, list[dict[str, str]], list[Acted]]:
    """Return task and turns as the masking checks leave them, to be sealed so, and what acted, once each."""
    checks = [it for it in guardrails.get("input", ()) if it["action"] == MASK]
    screened = [_screen(text, checks, "input") for text in (task, *(it["text"] for it in turns))]
    masked = [{**turn, "text": it.text} for turn, it in zip(turns, screened[1:], strict=True)]
    acted = [it for it in _once_each(screened) if it.action == MASK]
    return screened[0].text, masked, acted


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A run's messages as the input checks leave what it was given, and what they found in it."""

    messages: list[Message]
    task: str
    screened: tuple[Screened, ...]

    @property
    def refused(self) -> Acted | None:
        """The check that refuses it, None where the run may go on."""
        return next((it.refused for it in self.screened if it.refused), None)


def screen_given(start: dict[str, Any], agent: AgentNow, messages: Sequence[Message]) -> Given:
    """Put what a run was given by its `start` through the input checks; nothing is told yet.

    Given are history and task, which stand before the first answer; the agent's own instructions are not.
    """
    checks = agent.guardrails.get("input", ())
    given = len(start["history"]) + 1
    if not checks:
        return Given(messages=list(messages), task=start["task"], screened=())
    first = 1 if messages[0].role is Role.SYSTEM else 0
    texts = _checked([it.text for it in messages[first : first + given]], checks, "input")
    masked = [
        replace(message, text=it.text)
        for message, it in zip(messages[first : first + given], texts, strict=True)
    ]
    return Given(
        messages=[*messages[:first], *masked, *messages[first + given :]],
        task=masked[-1].text,
        screened=tuple(texts),
    )


def heed_given(given: Given, *, tell: Tell) -> None:
    """Have it told what acted on what a run was given. Raises `MayNotGoOn` where a check refuses it."""
    _heed(given.screened, tell)


def screen_answer(agent: AgentNow, answer: ModelAnswer, *, tell: Tell) -> ModelAnswer:
    """Return the answer as the output checks leave its text; calls are for the gates. Raises `MayNotGoOn`."""
    checks = agent.guardrails.get("output", ())
    if not checks or not answer.text:
        return answer
    (screened,) = _checked([answer.text], checks, "output")
    _heed([screened], tell)
    return replace(answer, text=screened.text)


def tell_acted(checkpoint: Checkpoint, acted: Sequence[Acted]) -> None:
    """Audit and tell what acted: the row at once, the event with the next write."""
    try:
        for it in acted:
            record_acted(checkpoint.run, it)
            checkpoint.events.add(ACTION, **facts_of(checkpoint.run, it))
    finally:
        # A run's thread holds no connection of Django's while it waits for its model.
        connection.close()


def facts_of(run: Run, acted: Acted) -> dict[str, Any]:
    """Return what audit and event tell of a check that acted: never what it found."""
    return {
        "agent": run.agent_key,
        "direction": acted.direction,
        "check": acted.kind,
        "name": acted.name,
        "action": acted.action,
    }


def record_acted(run: Run, acted: Acted) -> None:
    """Write the audit row of a check that acted."""
    record(
        ACTION,
        actor=f"agent:{run.agent_key}",
        detail=facts_of(run, acted),
        mission=run.mission,
        correlation_id=run.correlation_id,
        run_id=run.id,
        request_id=run.request_id,
    )


def _checked(
    texts: Sequence[str], checks: Sequence[dict[str, Any]], direction: str
) -> list[Screened]:
    """Put texts through the checks, as one span that tells by name which of them acted."""
    with span(Kind.GUARDRAIL_CHECK, direction) as told:
        found = [_screen(it, checks, direction) for it in texts]
        if told:
            acted = _once_each(found)
            told.tell(
                direction=direction,
                checks=len(checks),
                acted=", ".join(it.told for it in acted),
                refused=next((it.refused.told for it in found if it.refused), None),
            )
    return found


def _screen(text: str, checks: Sequence[dict[str, Any]], direction: str) -> Screened:
    return screen(text, checks=checks, direction=direction)


def _once_each(texts: Sequence[Screened]) -> list[Acted]:
    return list(dict.fromkeys(it for text in texts for it in text.acted))


def _heed(texts: Sequence[Screened], tell: Tell) -> None:
    """Have it told what acted. Raises `MayNotGoOn` for the first refusal."""
    acted = _once_each(texts)
    if not acted:
        return
    tell(acted)
    refused = next((text.refused for text in texts if text.refused), None)
    if refused is not None:
        error = ENDS[refused.direction]
        raise MayNotGoOn(failed(error, f"{refused.told} refused it"))
