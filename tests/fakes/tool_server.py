"""A real MCP server on 127.0.0.1 that remembers what it received and did, and misbehaves when told to."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp, Message, Receive, Scope, Send

START_SECONDS = 10.0
LOOK_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What happens to one request. Without any field it is answered as the server would.

    `refuse_status`: answered with it (and a `location`), the tool does not run. `together`: it runs once so many
    requests of that kind have come. `before`, `after`: seconds of delay around the tool's work. Then, with the work done: `status` or `raw` (the text of the JSON-RPC
    `result`) or `rpc_error` (its code) in place of the answer, a `reset` connection, or a `cut` body.
    """

    refuse_status: int = 0
    location: str = ""
    together: int = 0
    before: float = 0
    after: float = 0
    status: int = 0
    raw: str = ""
    rpc_error: int = 0
    reset: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One row of the ledger: a tool that ran."""

    tool: str
    args: dict[str, Any]
    meta: dict[str, Any]


@dataclass(slots=True)
class ToolServer:
    """The server and its memory; a restart forgets the sessions and keeps the ledger.

    `legacy` refuses the stateless protocol, so that clients keep a session; `json_response` answers
    without an event stream. `has_search` offers `find_issue`, which finds issues by their step key.
    """

    legacy: bool = False
    json_response: bool = True
    has_search: bool = False
    port: int = 0
    received: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    ledger: list[Effect] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    _next: dict[str, deque[Behaviour]] = field(default_factory=lambda: defaultdict(deque))
    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def url(self) -> str:
        """The address of its MCP endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def next(self, name: str, **behaviour: Any) -> None:
        """Say how the next request for this tool (or of this JSON-RPC method) is answered."""
        self._next[name].append(Behaviour(**behaviour))

    def effects(self, tool: str) -> list[Effect]:
        """The times that `tool` ran."""
        return [effect for effect in self.ledger if effect.tool == tool]

    def calls(self, tool: str) -> list[dict[str, Any]]:
        """The parameters of each tools/call for `tool` that arrived."""
        calls = (
            message["params"] for message in self.received if message["method"] == "tools/call"
        )
        return [params for params in calls if params["name"] == tool]

    def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        config = uvicorn.Config(
            _Steered(self, self._app()),
            host="127.0.0.1",
            port=self.port,
            log_level="critical",
            lifespan="on",
            timeout_graceful_shutdown=0,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            assert time.monotonic() < deadline, "the fake tool server did not start"
            time.sleep(LOOK_SECONDS)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Cut every connection and stop listening."""
        assert self._server is not None
        assert self._thread is not None
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(START_SECONDS)

    def restart(self) -> None:
        """Forget every session."""
        self.stop()
        self.start()

    def behaviour(self, name: str) -> Behaviour:
        """Take what was said of the next request for `name`."""
        waiting = self._next[name]
        return waiting.popleft() if waiting else Behaviour()

    def _app(self) -> ASGIApp:
        server = MCPServer("fake", log_level="CRITICAL")
        _add_tools(server, self)
        return server.streamable_http_app(
            streamable_http_path="/mcp", json_response=self.json_response
        )


def _add_tools(server: MCPServer, fake: ToolServer) -> None:
    def remember(tool: str, context: Context[Any, Any], **args: Any) -> str:
        meta = dict(context.request_context.meta or {})
        fake.ledger.append(Effect(tool=tool, args=args, meta=meta))
        return f"OPS-{len(fake.ledger)}"

    @server.tool(description=fake.descriptions.get("create_issue", "Create an issue"))
    def create_issue(title: str, context: Context[Any, Any], step_key: str = "") -> dict[str, Any]:
        return {"id": remember("create_issue", context, title=title, step_key=step_key)}

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_issue(id: str, context: Context[Any, Any]) -> dict[str, Any]:  # noqa: A002
        """Read an issue."""
        remember("get_issue", context, id=id)
        return {"id": id, "title": "a title"}

    if fake.has_search:

        @server.tool(annotations=ToolAnnotations(read_only_hint=True))
        def find_issue(step_key: str) -> dict[str, Any]:
            """Find what was created with a key."""
            kept = [effect.args for effect in fake.effects("create_issue")]
            return {"issues": [args for args in kept if args["step_key"] == step_key]}

    @server.tool()
    def refuse(why: str) -> str:
        """Fail, and say why."""
        raise ToolError(why)

    @server.tool(structured_output=False)
    def say(text: str) -> str:
        """Answer with a text."""
        return text


class _Steered:
    """The MCP server's application behind what the test asked for."""

    def __init__(self, fake: ToolServer, app: ASGIApp) -> None:
        self.fake = fake
        self.app = app
        self.met = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body = await _body(receive)
        message = json.loads(body)
        self.fake.received.append(message)
        self.fake.tokens.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        method = message["method"]
        if self.fake.legacy and method == "server/discover":
            await _answer(send, 400, b"{}")
            return
        name = message["params"]["name"] if method == "tools/call" else method
        behaviour = self.fake.behaviour(name)
        if behaviour == Behaviour():
            await self.app(scope, _replay(body, receive), send)
        else:
            await self._misbehave(behaviour, message, (scope, receive, send), body)

    async def _misbehave(
        self,
        behaviour: Behaviour,
        message: dict[str, Any],
        asgi: tuple[Scope, Receive, Send],
        body: bytes,
    ) -> None:
        scope, receive, send = asgi
        if behaviour.refuse_status:
            await _answer(send, behaviour.refuse_status, b"{}", behaviour.location)
            return
        self.met += behaviour.together > 0
        while self.met < behaviour.together:
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(behaviour.before)
        kept: list[Message] = []

        async def keep(part: Message) -> None:
            kept.append(part)

        await self.app(scope, _replay(body, receive), keep)
        await asyncio.sleep(behaviour.after)
        if behaviour.reset:
            receive.__self__.transport.abort()  # type: ignore[attr-defined]
        elif behaviour.cut:
            kept[1]["body"] = kept[1]["body"][:-5]
            for part in kept[:2]:
                await send(part)
            receive.__self__.transport.close()  # type: ignore[attr-defined]
        elif behaviour.status:
            await _answer(send, behaviour.status, b"{}")
        elif behaviour.raw or behaviour.rpc_error:
            await _answer(send, 200, _envelope(behaviour, message))
        else:
            for part in kept:
                await send(part)


def _envelope(behaviour: Behaviour, message: dict[str, Any]) -> bytes:
    said = f'"result":{behaviour.raw}'
    if behaviour.rpc_error:
        said = f'"error":{{"code":{behaviour.rpc_error},"message":"as told"}}'
    return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{said}}}'.encode()


async def _body(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        part = await receive()
        body += part.get("body", b"")
        if not part.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again


async def _answer(send: Send, status: int, body: bytes, location: str = "") -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if location:
        headers.append((b"location", location.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
