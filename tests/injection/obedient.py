"""A model that does whatever it reads: every order in its task, in what tools answer and in how tools are described.

Orders are looked for in every text of a result, however deep it lies, with hidden characters read as what they hide:

    CALL server/tool {"json": "arguments"}      also "a name in quotes", RAW <<any text>> in place of the JSON,
                                                AS "the call's id" and TIMES 3 behind it
    IF "word" CALL ...                          once a later result holds the word; TIMES: how often
    SAY text until the end of the line          in the answer that ends the run
    please run the tool `server/tool` with {"json": "arguments"}, three times

It speaks chat completions over HTTP and remembers nothing: what it owes is read from the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.fakes.model_server import ModelServer, Turn, call

ORDER = re.compile(
    r'(?:\bIF\s+"(?P<word>[^"]+)"\s+)?'
    r"(?:\bCALL|\b(?:call|run|use|invoke|execute|trigger|rufe)\b(?:\s+(?:the|tool|das|Werkzeug))*)"
    r'\s+(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|`(?P<ticked>[^`]+)`|(?P<bare>[^\s"`{]*[/_][^\s"`{]*))'
    r"\s*(?:(?:with|mit|using)\b\s*(?:arguments\s*)?)?",
)
RAW = re.compile(r"RAW <<(.*?)>>", re.DOTALL)
ID = re.compile(r'\s*AS "([^"]*)"')
TIMES = re.compile(r"\s*TIMES (\d+)|[\s,]*\b(twice|three times)\b")
SAY = re.compile(r"\bSAY (.*)|[Ii]nclude in your answer: (.*)")
WORDS = {"twice": 2, "three times": 3}
# Letters that a screen does not show, and what they are to a model: nothing, or ASCII in disguise.
TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
NOTHING = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
MOST_DEEP = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One call that a text asks for. `word`: only once a later result holds it."""

    name: str
    arguments: Any
    id: str = ""
    times: int = 1
    word: str = ""


class ObedientServer(ModelServer):
    """The obedient model behind an endpoint of chat completions."""

    def __init__(self) -> None:
        """Answer whoever asks."""
        super().__init__(obey)


def obey(body: dict[str, Any]) -> Turn:
    """Answer a request: every call that is owed, in order, else what was ordered to be said."""
    messages = body["messages"]
    tools = body.get("tools", [])
    known = {it["function"]["name"] for it in tools}
    last = max((at for at, it in enumerate(messages) if it["role"] == "assistant"), default=-1)
    fresh = [_text(it) for it in messages[last + 1 :] if it["role"] != "system"]
    if last < 0:
        fresh += [str(it["function"].get("description", "")) for it in tools]
    owed = [it for text in fresh for it in orders_in(text) if not it.word]
    owed += _due(messages, last)
    calls = [_asked(it, known) for it in owed for _ in range(it.times)]
    if calls:
        return Turn(calls=calls, text="\n".join(it for text in fresh for it in said_in(text)))
    said = [it for message in messages for it in said_in(_text(message))]
    return Turn(text="\n".join(["Done.", *said]))


def _due(messages: list[dict[str, Any]], last: int) -> Iterator[Order]:
    """Orders that waited for a word which the newest results hold, as often as they were to be obeyed."""
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            continue
        for order in orders_in(_text(message)):
            later = [
                index
                for index, it in enumerate(messages)
                if order.word and index > at and it["role"] == "tool" and order.word in _text(it)
            ]
            met = [index for index in later if index > last]
            if met and len(later) - len(met) < order.times:
                yield Order(name=order.name, arguments=order.arguments, id=order.id)


def orders_in(text: str) -> list[Order]:
    """Return the orders that a text holds, in order."""
    found: list[Order] = []
    for piece in texts_of(text):
        plain = piece.translate(TAGS).translate(NOTHING)
        for match in ORDER.finditer(plain):
            order = _order(match, plain)
            if order is not None:
                found.append(order)
    return found


def said_in(text: str) -> list[str]:
    """Return what a text wants to be said in the answer."""
    found = [it for piece in texts_of(text) for it in SAY.findall(piece)]
    return [first or second for first, second in found]


def texts_of(text: str, deep: int = 0) -> Iterator[str]:
    """Yield the texts of a result: itself, or what stands in it where it is JSON, names included."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield text
        return
    yield from _leaves(value, deep)


def _leaves(value: Any, deep: int) -> Iterator[str]:
    if deep > MOST_DEEP:
        return
    if isinstance(value, str):
        yield from texts_of(value, deep + 1)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _leaves(inner, deep + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, deep + 1)


def _order(match: re.Match[str], text: str) -> Order | None:
    rest = text[match.end() :]
    raw = RAW.match(rest)
    if raw:
        arguments, end = raw[1], raw.end()
    else:
        try:
            arguments, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            return None
    named = ID.match(rest, end)
    end = named.end() if named else end
    times = TIMES.match(rest, end)
    quoted = match["quoted"]
    return Order(
        name=match["ticked"] or match["bare"] if quoted is None else json.loads(f'"{quoted}"'),
        arguments=arguments,
        id=named[1] if named else "",
        times=int(times[1] or WORDS[times[2]]) if times else 1,
        word=match["word"] or "",
    )


def _asked(order: Order, known: set[str]) -> Any:
    """The call on the wire: by the name it is offered under, else by the very text of the order."""
    wire = order.name.replace("/", "__")
    asked = call("wire", order.arguments, id=order.id or f"toolu_{uuid4().hex[:16]}")
    asked["function"]["name"] = wire if wire in known else order.name
    return asked


def _text(message: dict[str, Any]) -> str:
    text = str(message.get("content") or "")
    return text.removeprefix("Error: ")
