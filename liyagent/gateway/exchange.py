"""One tools/call on the wire: asked right before its bytes, read by ourselves, its fate exactly known.

The MCP SDK negotiates, keeps the session and stamps headers, but a failing POST ends its whole session
with every call in it, and its errors do not tell whether the bytes had left or who said so. So a call is
taken out of its hands, and it gets an empty answer for it: a POST is sent and answered here (`post`), a
line to a command by `stdio`, which tells this exchange what it saw.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable
from typing import Any

import anyio
import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import NotStorable, TooLarge, parse_json
from liyagent.gateway.asked import MOST_REPLIES, reply_to
from liyagent.gateway.fates import fate_of_answer
from liyagent.gateway.outcome import MaySend, NotSent, Outcome, Payload
from liyagent.gateway.results import failed, in_doubt
from liyagent.telemetry.spans import trace_meta
from missions.carry import META_KEY

logger = logging.getLogger(__name__)

CALL_ID = "io.liyagent/call"
STEP_KEY = "io.liyagent/step-key"
MISSION = META_KEY
EXTENSION = "liyagent.exchange"
# How long a call that was given up is listened to, so that its late answer is in the log (FL-78).
LATE_SECONDS = 300.0
# A body holds the result twice (structured and as text), escaped: beyond this it is not read on.
BODY_TIMES_LIMIT = 8
BODY_EXTRA_BYTES = 64 << 10
# Deeper than a result may be, so that one which is a little too deep can still be told from no answer.
BODY_DEPTH = 200
UNAUTHORIZED = 401
REPLY_SECONDS = 10.0
# Headers that describe the call's own body; all else, its session and its token, goes with a reply too.
OF_THE_CALL = frozenset({"content-length", "content-type", "host", "mcp-method", "mcp-name"})

Asked = Callable[[Any], None]
Judge = Callable[[int, Any, Payload], Outcome]

NUMBERS = itertools.count(1)


class Exchange:
    """One sending of one payload. Everything but `interrupt` happens in the event loop of the portal."""

    def __init__(self, payload: Payload, may_send: MaySend, judge: Judge = fate_of_answer) -> None:
        """Take what is to be sent; nothing leaves before the SDK posts it. `judge` reads the answer's status and body."""
        self.payload = payload
        # Of whoever calls: the thread's context comes along into the loop.
        self.trace = trace_meta()
        self._judge = judge
        self.id = str(next(NUMBERS))
        self.settled = anyio.Event()
        self.is_posted = False
        self.has_left = False
        self.is_closed = False
        self.lost_session = False
        self.is_unauthorized = False
        self.token = ""
        self.outcome: Outcome | None = None
        self.not_sent = ""
        self._is_answered = False
        self._may_send = may_send
        self._scope = anyio.CancelScope()
        self._task: asyncio.Task[None] | None = None
        self._replies: list[asyncio.Task[None]] = []

    @property
    def meta(self) -> dict[str, str]:
        """What travels as `_meta`: the step key, the mission, the number we find this call by, and `traceparent` if traced."""
        known = {STEP_KEY: self.payload.key, MISSION: self.payload.mission, CALL_ID: self.id}
        return {**known, **self.trace}

    def before_bytes(self) -> None:
        """Let the bytes leave once, and only while the mark's deadline stands. Raises `NotSent`."""
        if self.is_closed or self.has_left:
            raise NotSent("the call was given up before it was sent")
        if not self._may_send():
            raise NotSent("the mark's deadline passed before the bytes could leave")
        self.has_left = True

    async def post(self, client: httpx2.AsyncClient, request: httpx2.Request) -> None:
        """Send `request` and wait until this exchange is settled, by its answer or by being given up."""
        if not self.take():
            return
        request.extensions = {**request.extensions, EXTENSION: self}
        # A task of its own: what ends the SDK's session must not cut a call that is on its way.
        self._task = asyncio.create_task(self._run(client, request))
        await self.settled.wait()

    def take(self) -> bool:
        """Take it from the SDK. False where it was taken before (it would send a rejected one again): never twice."""
        is_first, self.is_posted = not self.is_posted, True
        return is_first

    def answered(self, outcome: Outcome) -> None:
        """Settle by an answer; one that comes after it was given up is only logged (FL-78)."""
        if self.settled.is_set():
            self._log_late(outcome)
        else:
            self._settle(outcome)

    def refuse(self, reason: NotSent) -> None:
        """Settle as never sent: the mark said no."""
        self.not_sent = self.not_sent or str(reason)
        self.give_up(str(reason))

    def break_off(self, reason: str) -> None:
        """Settle as what the end of the connection leaves: in doubt where its bytes had left, else not sent."""
        self.lost_session = True
        self.give_up(reason)

    @property
    def most_bytes(self) -> int:
        """How long its answer may be on the wire."""
        return self.payload.limit_bytes * BODY_TIMES_LIMIT + BODY_EXTRA_BYTES

    def give_up(self, reason: str) -> None:
        """Stop waiting. Bytes that have not left never will; an answer that comes later is only logged."""
        self.is_closed = True
        if not self.settled.is_set():
            self._settle(self._without_answer(reason))
        if not self.has_left:
            self._scope.cancel()

    def interrupt(self, reason: str) -> None:
        """Give up and shut the connection too: the run is no longer this process's (ruling 10)."""
        self.give_up(reason)
        self._scope.cancel()

    async def _run(self, client: httpx2.AsyncClient, request: httpx2.Request) -> None:
        with self._scope, anyio.move_on_after(self.payload.timeout_seconds + LATE_SECONDS):
            outcome = await self._exchange(client, request)
            if self._is_answered or not self.settled.is_set():
                self.answered(outcome)
        if not self.settled.is_set():
            self._settle(self._without_answer("the exchange was cut short"))

    async def _exchange(self, client: httpx2.AsyncClient, request: httpx2.Request) -> Outcome:
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                asked = _asker(client, request, self._replies)
                return await self._read(response, json.loads(request.content)["id"], asked)
            finally:
                for reply in self._replies:
                    reply.cancel()
                await response.aclose()
        except NotSent as reason:
            self.not_sent = str(reason)
            return self._without_answer(str(reason))
        except (httpx2.HTTPError, httpx2.StreamError, OSError, LiyagentError) as error:
            self.lost_session = True
            return self._without_answer(f"{type(error).__name__}: {error}")

    async def _read(self, response: httpx2.Response, rpc_id: Any, asked: Asked) -> Outcome:
        self.lost_session = response.status_code == 404
        self.is_unauthorized = response.status_code == UNAUTHORIZED
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        try:
            if is_stream:
                answer = await _answer_in_stream(response, rpc_id, self.most_bytes, asked)
            else:
                answer = _json(await read_body(response, self.most_bytes))
        except (NotStorable, httpx2.SSEError) as error:
            return self._unreadable(response.status_code, error)
        self._is_answered = True
        return self._judge(response.status_code, answer, self.payload)

    def _unreadable(self, status: int, error: Exception) -> Outcome:
        if status == 200:
            return in_doubt(f"the answer cannot be read: {error}", self.payload)
        return self._judge(status, None, self.payload)

    def _without_answer(self, reason: str) -> Outcome:
        if not self.has_left:
            return failed(f"not sent: {reason}", self.payload)
        return in_doubt(f"sent, but without an answer: {reason}", self.payload)

    def _settle(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.settled.set()

    def _log_late(self, outcome: Outcome) -> None:
        logger.warning(
            "a late answer of %s/%s is ignored: %s",
            self.payload.server,
            self.payload.tool,
            outcome.fate,
            extra={"step_key": self.payload.key, "fate": outcome.fate},
        )


async def read_body(response: httpx2.Response, most_bytes: int) -> bytes:
    """Return the decoded body. Raises `TooLarge` as soon as it is longer than `most_bytes`."""
    chunks: list[bytes] = []
    left = most_bytes
    async for chunk in response.aiter_bytes():
        left -= len(chunk)
        if left < 0:
            raise TooLarge(f"its body is longer than {most_bytes} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def _answer_in_stream(
    response: httpx2.Response, rpc_id: Any, most_bytes: int, asked: Asked
) -> Any:
    """The message in an event stream that answers `rpc_id`; None where it ends without one. The server may ask meanwhile."""
    async for event in httpx2.EventSource(response, max_event_size=most_bytes):
        message = _json(event.data) if event.event == "message" and event.data else None
        if isinstance(message, dict) and message.get("id") == rpc_id and "method" not in message:
            return message
        asked(message)
    return None


def _asker(
    client: httpx2.AsyncClient, request: httpx2.Request, replies: list[asyncio.Task[None]]
) -> Asked:
    """What answers the server's own requests: a POST of its own each, beside the call, which it may be waited for by."""

    def asked(message: Any) -> None:
        reply = reply_to(message)
        if reply is not None and len(replies) < MOST_REPLIES:
            replies.append(asyncio.create_task(_post_reply(client, request, reply)))

    return asked


async def _post_reply(
    client: httpx2.AsyncClient, request: httpx2.Request, reply: dict[str, Any]
) -> None:
    kept = {name: it for name, it in request.headers.items() if name not in OF_THE_CALL}
    try:
        with anyio.move_on_after(REPLY_SECONDS):
            posted = client.build_request("POST", request.url, json=reply, headers=kept)
            answer = await client.send(posted, stream=True, follow_redirects=False)
            await answer.aclose()
    except (httpx2.HTTPError, httpx2.StreamError, OSError, LiyagentError) as error:
        logger.warning("a server takes no reply: %s: %s", type(error).__name__, error)


def _json(text: str | bytes) -> Any:
    return parse_json(text, max_depth=BODY_DEPTH)
