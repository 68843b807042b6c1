"""One tiny question to an endpoint, and what its answers prove of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus

from liyagent.core.errors import LiyagentError
from liyagent.providers.endpoint import KEY_NAME
from liyagent.providers.prices import active_prices
from liyagent.providers.types import (
    Finish,
    Message,
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolSpec,
)

# Room for a model that thinks before it calls.
MOST_TOKENS = 2048
TOOL = ToolSpec(
    name="check/echo",
    description="Returns the word that it is given.",
    schema={
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
)
QUESTION = "Call the tool once, with the word blue. Say nothing else."
NO_CALLS = (
    "it answered {said!r}; choose a model that is made for tool calls, and switch them on where the server "
    "has to be told to (vLLM: --enable-auto-tool-choice and --tool-call-parser)"
)
NO_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN})


class CheckFailed(LiyagentError):
    """The endpoint is not fit for an agent."""

    code = "provider.unfit"
    http_status = 502


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `says` is what to do where it `is_good` not, else what was seen."""

    about: str
    is_good: bool
    says: str = ""


def check_endpoint(client: ModelClient, *, model: str, timeout_seconds: float) -> Iterator[Finding]:
    """Yield what was found, one line each, until something is wrong. The endpoint is asked twice at most."""
    request = ModelRequest(
        model=model,
        messages=(Message(role=Role.USER, text=QUESTION),),
        tools=(TOOL,),
        timeout_seconds=timeout_seconds,
        max_answer_tokens=MOST_TOKENS,
    )
    try:
        answer = client.ask(request)
    except (ModelRejected, ModelUnavailable) as error:
        yield from _refused(error)
        return
    yield Finding(about="reachable", is_good=True)
    yield Finding(about="key accepted", is_good=True)
    yield Finding(about="model known", is_good=True)
    yield _tool_call(answer)
    yield _streaming(client, replace(request, is_streaming=True), answer)
    yield _tokens(answer)
    yield _price(model)


def _refused(error: ModelRejected | ModelUnavailable) -> Iterator[Finding]:
    """How far it got: a status says that something answered; 401 that it was the key; 404 the model or URL."""
    detail = error.detail
    if detail.startswith(KEY_NAME):
        yield Finding(about="key found here", is_good=False, says=detail)
        return
    if not error.status or 300 <= error.status < 400:
        yield Finding(about="reachable", is_good=False, says=detail)
        return
    yield Finding(about="reachable", is_good=True)
    if error.status in NO_KEY:
        yield Finding(about="key accepted", is_good=False, says=detail)
    elif error.status == HTTPStatus.NOT_FOUND:
        yield Finding(about="model known", is_good=False, says=detail)
    else:
        yield Finding(about="answers", is_good=False, says=detail)


def _tool_call(answer: ModelAnswer) -> Finding:
    about = "answers tool calls"
    if answer.finish is Finish.CUT:
        says = f"its answer was cut at {MOST_TOKENS} tokens; choose a model that says less"
        return Finding(about=about, is_good=False, says=says)
    call = next((it for it in answer.calls if it.name == TOOL.name), None)
    if call is None:
        return Finding(about=about, is_good=False, says=NO_CALLS.format(said=answer.text[:80]))
    if not call.args or "word" not in call.args:
        says = f"its arguments are {call.arguments_text[:80]!r}, which lack `word`; choose another model"
        return Finding(about=about, is_good=False, says=says)
    return Finding(about=about, is_good=True)


def _streaming(client: ModelClient, request: ModelRequest, whole: ModelAnswer) -> Finding:
    about = "streaming works"
    try:
        streamed = client.ask(request)
    except (ModelRejected, ModelUnavailable) as error:
        says = f"leave is_streaming off for agents that use it: {error.detail}"
        return Finding(about=about, is_good=False, says=says)
    if bool(streamed.calls) != bool(whole.calls):
        says = "streamed, it makes no tool calls; leave is_streaming off for agents that use it"
        return Finding(about=about, is_good=False, says=says)
    return Finding(about=about, is_good=True)


def _tokens(answer: ModelAnswer) -> Finding:
    if not (answer.input_tokens and answer.output_tokens):
        says = "it tells no usage: caps on tokens and costs do not see this model"
        return Finding(about="tokens counted", is_good=False, says=says)
    says = f"{answer.input_tokens} in, {answer.output_tokens} out"
    return Finding(about="tokens counted", is_good=True, says=says)


def _price(model: str) -> Finding:
    prices = active_prices()
    price = prices.price_of(model)
    if price is None:
        says = "none in LIYAGENT_PRICES_FILE: its runs cost 0"
        return Finding(about="price", is_good=True, says=says)
    per_million = f"{price.input} in, {price.cached_input} in again, {price.output} out"
    says = f"{prices.currency} {per_million}, for a million tokens"
    return Finding(about="price", is_good=True, says=says)
