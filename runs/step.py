"""One model step, as it is counted, told of and written ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from liyagent.core.metrics import COST, TOKENS
from liyagent.providers.prices import cost_micros
from liyagent.providers.types import Finish, Message, ModelAnswer
from liyagent.telemetry.spans import current_span
from runs import hot
from runs.checkpoint import STEP, Checkpoint
from runs.conversation import Pending, step_part

NOTHING = hot.Audit()


def count_step(checkpoint: Checkpoint, answer: ModelAnswer, *, model: str) -> None:
    """Count an answer and buffer its event; the next write takes both along."""
    counters = checkpoint.counters
    cost = cost_micros(
        model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_tokens=answer.cached_tokens,
    )
    checkpoint.counters = replace(
        counters,
        steps=counters.steps + 1,
        calls=counters.calls + len(answer.calls),
        input_tokens=counters.input_tokens + answer.input_tokens,
        output_tokens=counters.output_tokens + answer.output_tokens,
        cost_micros=counters.cost_micros + cost,
    )
    agent = checkpoint.run.agent_key
    TOKENS.of(agent, "input").inc(answer.input_tokens)
    TOKENS.of(agent, "output").inc(answer.output_tokens)
    COST.of(agent).inc(cost / 1_000_000)
    checkpoint.events.add(
        "step",
        step=counters.steps + 1,
        finish=answer.finish.value,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_micros=cost,
        calls=[it.name for it in answer.calls],
        text=checkpoint.events.words(answer.text),
    )
    if asking := current_span():
        asking.tell(
            finish=answer.finish.value,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            calls=len(answer.calls),
        )
        asking.tell_words(answer=answer.text)


def asked_for(checkpoint: Checkpoint, answer: ModelAnswer) -> Pending:
    """Return the calls of the answer that was counted last, to be made once it is written."""
    return Pending(
        step=checkpoint.counters.steps,
        calls=answer.calls,
        was_cut=answer.finish is Finish.CUT,
    )


def write_step(
    checkpoint: Checkpoint,
    answer: ModelAnswer,
    results: list[Message],
    *,
    meanwhile: Callable[[], None],
) -> None:
    """Write ahead: the answer and the calls it asks for, before any of them is made (CR-09).

    `meanwhile` is run while the database writes, and may change nothing outside this process.
    """
    part = step_part(answer, results)
    number = len(checkpoint.parts)
    sealed = checkpoint.sealer.seal(part, kind=STEP, number=number, previous=checkpoint.last_tag)
    checkpoint.add_part(part, sealed)
    told = hot.write_step(
        checkpoint.next_fence(),
        seal=checkpoint.head_seal(),
        counters=checkpoint.counters,
        part=number,
        sealed=sealed,
        events=checkpoint.events.taken(),
        give_up=checkpoint.give_up,
        meanwhile=meanwhile,
    )
    checkpoint.events.clear()
    checkpoint.written(told)


def tell_step(checkpoint: Checkpoint) -> None:
    """Tell of a step of a run that is not written ahead, and hear of a Stop: its events alone are stored."""
    checkpoint.settled.clear()
    told = hot.flush(
        checkpoint.next_fence(),
        seal=checkpoint.head_seal(),
        resumes=checkpoint.run.resumes_recorded,
        audit=NOTHING,
        events=checkpoint.events.taken(),
        give_up=checkpoint.give_up,
    )
    checkpoint.events.clear()
    checkpoint.written(told)
