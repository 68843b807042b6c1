"""A real local model server: chat completions over HTTP, with a memory of what it was asked.

In tests: `with ModelServer([turn, ...]) as server: ... server.base_url`. By hand, playing a script of
provider `scripted`: `python -m tests.fakes.model_server --port 8099 --script triage.yaml`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from liyagent.providers.script import BadScript, Script, play, read_script, task_in
from liyagent.providers.types import Finish, Message, Role
from liyagent.providers.wire_names import wire_name

DRIP_BYTES = 50
PATH = "/v1/chat/completions"
REASONS = {
    Finish.STOP: "stop",
    Finish.CALLS: "tool_calls",
    Finish.CUT: "length",
    Finish.REFUSED: "content_filter",
}
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 3},
}
DONE = "data: [DONE]\n\n"
FRAGMENT = 5
STATUS_OF_ERROR = {"unavailable": 503, "rejected": 400}


def call(name: str, arguments: Any = None, *, id: Any = "call_9f3KqZ1vX7", **quirks: Any) -> Any:  # noqa: A002
    """One tool call on the wire. `name` is ours or any text; arguments that are no text become JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    name = wire_name(name) if "/" in name else name
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}, **quirks}


@dataclass(kw_only=True)
class Turn:
    """One answer. `raw` is sent instead of a completion; `cut_after` closes the connection after so many
    bytes; `drip_seconds` passes between pieces of 50 bytes, or between the events of a stream.

    `events` is streamed instead of what text and calls make: an object is an event, a text is sent as it
    is, a number is a pause in seconds.
    """

    text: Any = ""
    calls: Sequence[Any] = ()
    finish: str | None = None
    refusal: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | bytes | None = None
    events: Sequence[Any] | None = None
    delay_seconds: float = 0.0
    cut_after: int | None = None
    drip_seconds: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether it is sent as it is, also to one who asked for a stream."""
        return self.raw is not None or self.status >= 400


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[dict[str, Any]], Turn]


class _Http(ThreadingHTTPServer):
    request_queue_size = 256


class ModelServer:
    """Answers from a list of turns, one a request, or from a function of the request's body.

    `strict` refuses with 400 what providers refuse: tool results that are unpaired, doubled or out of order.
    `connections` counts those that were made, `broken_off` the answers whose reader went before their end. Its format is chat completions;
    another one overrides `path`, `base_path`, `fault`, `body_of`, `error_of`, `events_of` and `framed`.
    """

    path = PATH
    base_path = "/v1"
    not_taken: tuple[str, ...] = ()
    """Names of a request that this endpoint refuses, as local servers and newer models do."""

    def __init__(
        self, turns: Sequence[Turn] | Answer = (), *, strict: bool = True, port: int = 0
    ) -> None:
        """Listen at once; answer from `start` (or the `with` statement) on."""
        self.requests: list[Recorded] = []
        self.broken_off = 0
        self.connections = 0
        self.stopping = threading.Event()
        self.turns = turns if callable(turns) else list(turns)
        self._strict = strict
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        """What an agent's `base_url` is set to."""
        return f"http://127.0.0.1:{self._http.server_address[1]}{self.base_path}"

    @property
    def bodies(self) -> list[Any]:
        """The body of every request so far."""
        return [recorded.body for recorded in self.requests]

    def start(self) -> Self:
        """Answer from now on, on threads of its own."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop answering and free the port."""
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def turn_for(self, recorded: Recorded) -> Turn:
        """Remember the request and choose its answer."""
        with self._lock:
            self.requests.append(recorded)
            if recorded.path != self.path:
                return Turn(status=404, text=f"no such path: {recorded.path}")
            fault = self.fault(recorded)
            if fault:
                return Turn(status=400, text=fault)
            if not callable(self.turns):
                return self.turns.pop(0) if self.turns else Turn(text="done")
        return self.turns(recorded.body)

    def fault(self, recorded: Recorded) -> str:
        """Say what a provider would refuse the request for, "" for nothing."""
        for name in self.not_taken:
            if name in recorded.body:
                return f"Unsupported parameter: '{name}' is not supported with this model."
        return pairing_fault(recorded.body) if self._strict else ""

    def content_of(self, turn: Turn, model: Any) -> bytes:
        """The bytes of an answer that is not streamed."""
        if turn.raw is not None:
            return turn.raw if isinstance(turn.raw, bytes) else turn.raw.encode()
        if turn.status >= 400:
            return json.dumps(self.error_of(turn)).encode()
        return json.dumps(self.body_of(turn, model)).encode()

    def error_of(self, turn: Turn) -> dict[str, Any]:
        """The body of a refusal."""
        return {"error": {"message": turn.text or "no", "type": "error", "code": None}}

    def body_of(self, turn: Turn, model: Any) -> dict[str, Any]:
        """A completion."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": turn.text,
            "refusal": turn.refusal,
        }
        if turn.calls:
            message["tool_calls"] = list(turn.calls)
        choice = {"index": 0, "message": message, "finish_reason": _reason(turn), "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
        return {**head, "choices": [choice], "usage": USAGE}

    def events_of(self, turn: Turn, body: dict[str, Any]) -> list[Any]:
        """The events of a streamed completion: texts in pieces, arguments in fragments, ids only at first."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in _fragments(turn.text or "")]
        deltas += [{"refusal": piece} for piece in _fragments(turn.refusal or "")]
        for index, asked in enumerate(turn.calls):
            said = asked["function"]["arguments"]
            first = {**asked, "function": {**asked["function"], "arguments": ""}}
            deltas.append({"tool_calls": [{"index": index, **first}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in _fragments(said)
            ]
        events = [chunk(delta) for delta in deltas] + [chunk({}, finish=_reason(turn))]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append({"choices": [], "usage": USAGE})
        return [*events, DONE]

    def framed(self, event: Any) -> bytes:
        """One event on the wire."""
        text = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
        return text.encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes; the second must not wait for the first one's receipt.
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                server.connections += 1

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length))
                headers = {name.lower(): value for name, value in self.headers.items()}
                turn = server.turn_for(Recorded(path=self.path, headers=headers, body=body))
                with contextlib.suppress(
                    ConnectionError
                ):  # who asked may be gone: a timeout, a kill
                    if turn.is_plain or not (body.get("stream") or turn.events is not None):
                        self._answer(turn, server.content_of(turn, body.get("model")))
                    else:
                        self._stream(turn, turn.events or server.events_of(turn, body))

            def _answer(self, turn: Turn, content: bytes) -> None:
                server.stopping.wait(turn.delay_seconds)
                headers = {"Content-Type": "application/json", **turn.headers}
                self.send_response(turn.status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.close_connection = turn.cut_after is not None
                self.end_headers()
                for piece in _pieces(content[: turn.cut_after], turn.drip_seconds):
                    self.wfile.write(piece)

            def _stream(self, turn: Turn, events: Sequence[Any]) -> None:
                server.stopping.wait(turn.delay_seconds)
                self.send_response(turn.status)
                headers = {"Content-Type": "text/event-stream; charset=utf-8", **turn.headers}
                for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
                    self.send_header(name, value)
                left = turn.cut_after
                self.close_connection = left is not None
                try:
                    self.end_headers()
                    for event in events:
                        if isinstance(event, int | float):
                            self._pause(event)
                            continue
                        self._pause(turn.drip_seconds)
                        content = server.framed(event)[:left]
                        left = None if left is None else left - len(content)
                        if content:
                            self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
                    if left is None:
                        self.wfile.write(b"0\r\n\r\n")
                except ConnectionError:
                    server.broken_off += 1
                    self.close_connection = True

            def _pause(self, seconds: float) -> None:
                """Wait, but see at once when the reader goes."""
                if not seconds:
                    return
                readable, _, _ = select.select([self.connection], [], [], seconds)
                if readable:
                    raise ConnectionResetError

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
                """Say nothing; `requests` remembers."""

        return Handler


def chunk(delta: Any, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more}


def _reason(turn: Turn) -> str:
    return turn.finish or ("tool_calls" if turn.calls else "stop")


def _fragments(text: str) -> list[str]:
    return [text[start : start + FRAGMENT] for start in range(0, len(text), FRAGMENT)]


def _pieces(content: bytes, drip_seconds: float) -> Iterator[bytes]:
    size = DRIP_BYTES if drip_seconds else len(content) or 1
    for start in range(0, len(content), size):
        time.sleep(drip_seconds)
        yield content[start : start + size]


def pairing_fault(body: dict[str, Any]) -> str:
    """Say what is wrong with the tool results: each step's calls want one result each, in order, at once."""
    open_ids: list[Any] = []
    for index, message in enumerate(body.get("messages", [])):
        if message.get("role") == "tool":
            expected = open_ids.pop(0) if open_ids else None
            if message.get("tool_call_id") != expected:
                return f"messages[{index}]: result of {message.get('tool_call_id')!r}, expected {expected!r}"
            continue
        if open_ids:
            return f"messages[{index}]: calls {open_ids} have no result"
        open_ids = [item.get("id") for item in message.get("tool_calls") or []]
    return f"calls {open_ids} have no result" if open_ids else ""


def from_script(script: Script, *, run_id: str = "local") -> Answer:
    """Answer as provider `scripted` would: the step is the number of answers that the request remembers."""

    def answer(body: dict[str, Any]) -> Turn:
        messages = [_message(raw) for raw in body.get("messages", [])]
        steps_taken = sum(message.role is Role.ASSISTANT for message in messages)
        step = script.step_at(steps_taken, task=task_in(messages))
        if step.error:
            return Turn(status=STATUS_OF_ERROR[step.error], text=f"{step.place} says {step.error}")
        try:
            said = play(step, run_id=run_id, steps_taken=steps_taken, messages=messages)
        except BadScript as error:
            return Turn(status=400, text=str(error))
        calls = [call(item.name, item.arguments_text, id=item.id) for item in said.calls]
        return Turn(
            text=said.text,
            calls=calls,
            finish=REASONS[said.finish],
            delay_seconds=step.delay_seconds,
        )

    return answer


def _message(raw: dict[str, Any]) -> Message:
    return Message(role=Role(raw["role"]), text=raw.get("content") or "")


def main() -> None:
    """Serve one script until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fakes.model_server", description=main.__doc__
    )
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--script", type=Path, required=True)
    options = parser.parse_args()
    script = read_script(options.script)
    with ModelServer(from_script(script), port=options.port) as server:
        print(f"playing {script.name} at {server.base_url}", flush=True)  # noqa: T201 - for a person
        threading.Event().wait()


if __name__ == "__main__":
    main()
