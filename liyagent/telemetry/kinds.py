"""The kinds of spans, and by which attribute each fact of them is told. No other attribute is ever written."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a span is of; told as `liyagent.span`, and by the first word of its name."""

    RUN = "run"
    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    GUARDRAIL_CHECK = "guardrail_check"
    SWEEP = "sweep"
    RESUME = "resume"
    DELIVERY = "delivery"


# The names that OpenTelemetry's conventions for generative AI give, where they have one.
NAMED = {
    Kind.RUN: "invoke_agent",
    Kind.MODEL_CALL: "chat",
    Kind.TOOL_CALL: "execute_tool",
    Kind.GUARDRAIL_CHECK: "guardrail",
    Kind.SWEEP: "sweep",
    Kind.RESUME: "resume",
    Kind.DELIVERY: "deliver",
}
OUTWARD = frozenset({Kind.MODEL_CALL, Kind.TOOL_CALL, Kind.DELIVERY})

MISSION = "liyagent.mission.id"
SPAN = "liyagent.span"
ERROR = "error.type"
# The class of what ended a span that did not fail: its run goes to sleep, is carried elsewhere, or has ended.
CUT_BY = "liyagent.span.cut_by"
# Of a request, which is of no run; and the names under which the instrumentation of Django may tell of one.
REQUEST = "request"
REQUEST_ID = "liyagent.request.id"
REQUEST_FACTS = {
    "http.method": "http.request.method",
    "http.request.method": "http.request.method",
    "http.route": "http.route",
    "http.status_code": "http.response.status_code",
    "http.response.status_code": "http.response.status_code",
}
# On every span of a run, from the run that it is of; code that tells of a span cannot set them.
OF_THE_RUN = (
    MISSION,
    SPAN,
    "liyagent.run.id",
    "liyagent.correlation.id",
    "liyagent.run.attempt",
    "gen_ai.agent.name",
)
FACTS = {
    "status": "liyagent.run.status",
    "error": ERROR,
    "entry": "liyagent.run.entry",
    "losses": "liyagent.run.losses",
    "steps": "liyagent.run.steps",
    "operation": "gen_ai.operation.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "finish": "gen_ai.response.finish_reasons",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "calls": "liyagent.model.calls",
    "tries": "liyagent.model.tries",
    "tool": "gen_ai.tool.name",
    "step_key": "liyagent.call.step_key",
    "effect": "liyagent.call.effect",
    "posture": "liyagent.call.posture",
    "gate": "liyagent.call.gate",
    "fate": "liyagent.call.fate",
    "settlement": "liyagent.call.settlement",
    "direction": "liyagent.guardrail.direction",
    "checks": "liyagent.guardrail.checks",
    "acted": "liyagent.guardrail.acted",
    "refused": "liyagent.guardrail.refused",
    "cause": "liyagent.loss.cause",
    "left": "liyagent.resume.calls",
    "way": "liyagent.delivery.way",
    "kind": "liyagent.delivery.kind",
    "number": "liyagent.delivery.number",
    "tried": "liyagent.delivery.attempt",
    "outcome": "liyagent.delivery.outcome",
}
# Told only of runs recorded in full, and only where LIYAGENT_TRACES_WORDS asks for them.
WORDS = {
    "answer": "liyagent.words.answer",
    "arguments": "liyagent.words.arguments",
    "result": "liyagent.words.result",
    "reason": "liyagent.words.reason",
}
MOST_WORDS = 8_000
