"""Every remote agent that this process asks, and the messages on their way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_async_client
from liyagent.gateway import a2a_told
from liyagent.gateway.a2a_card import ASK, CARD_LIMIT_BYTES, TASK, TASKS, Card, read_card
from liyagent.gateway.a2a_way import AgentSaid, Way
from liyagent.gateway.contracts import Address
from liyagent.gateway.exchange import UNAUTHORIZED, Exchange, read_body
from liyagent.gateway.mcp_http import Bearer, ask_exchange
from liyagent.gateway.mcp_session import LONGEST_TROUBLE, CatalogueUnreadable, log_failure
from liyagent.gateway.oauth import Tokens
from liyagent.gateway.outcome import Fate, MaySend, NotSent, Outcome, Payload
from liyagent.gateway.results import done, failed, in_doubt

OK = 200
CARD_SECONDS = 10.0
# For so long a card is believed; then it is read again before a message.
KEPT_SECONDS = 300.0
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.1, 5.0


class Agents:
    """Their cards, their tokens, and what is on its way to them. All but `is_open` happens in one event loop."""

    def __init__(self) -> None:
        """Open the one HTTP client that all of them share; it asks each message before its first byte."""
        self._http = guarded_async_client(before_send=ask_exchange, timeout_seconds=None)
        self._tokens = Tokens()
        self._cards: dict[Address, tuple[Card, float]] = {}
        self._exchanges: set[Exchange] = set()
        self._looking: dict[str, anyio.CancelScope] = {}

    def is_open(self, address: Address) -> bool:
        """Say whether its card and its token are there; may be asked from any thread."""
        is_fresh = address.oauth is None or self._tokens.is_fresh(address.oauth)
        return is_fresh and self._kept(address) is not None

    async def open(self, address: Address) -> None:
        """Have both; what went wrong is told by the call that needs them."""
        with suppress(LiyagentError):
            await self._card(address)
        if address.oauth is not None:
            with suppress(LiyagentError):
                await self._tokens.token(address.oauth)

    async def look(self, address: Address) -> tuple[Card, float | None]:
        """Return its card as it is now, and how long its token lasts. Raises `CatalogueUnreadable`, `TokenRefused`, `BadInput`."""
        await Bearer(address, self._tokens).token()
        card = await self._read_card(address)
        seconds = self._tokens.seconds_left(address.oauth) if address.oauth else None
        return card, seconds

    async def call(self, address: Address, payload: Payload, may_send: MaySend) -> Outcome:
        """Make one call and return its fate. Raises `NotSent`."""
        until = time.monotonic() + payload.timeout_seconds
        try:
            with anyio.fail_after(payload.timeout_seconds):
                card, bearer = await self._card(address), Bearer(address, self._tokens)
        except (LiyagentError, TimeoutError) as error:
            why = str(error) or "no card in time"
            return failed(f"not sent: {why}", payload)
        if payload.tool == ASK:
            way = Way(self._http, card, bearer, address)
            return await self._ask(way, payload, may_send, until)
        if payload.tool not in ({TASK, TASKS} if card.can_list else {TASK}):
            said = f"not sent: by {card.version} an agent has no tool {payload.tool}"
            return failed(said, payload)
        return await self._read(Way(self._http, card, bearer, address), payload, until)

    def interrupt(self, step_keys: Collection[str]) -> int:
        """Shut the connections of the messages on their way under these keys; return how many there were."""
        picked = [it for it in self._exchanges if it.payload.key in step_keys]
        for exchange in picked:
            exchange.interrupt("this process gave the call up")
        for key in step_keys:
            if key in self._looking:
                self._looking[key].cancel()
        return len(picked)

    async def close(self) -> None:
        """Give up every message and shut the connections."""
        self.interrupt({it.payload.key for it in self._exchanges})
        await self._http.aclose()
        await self._tokens.close()

    async def _ask(self, way: Way, payload: Payload, may_send: MaySend, until: float) -> Outcome:
        exchange = Exchange(payload, may_send, a2a_told.judge)
        self._exchanges.add(exchange)
        asking = asyncio.create_task(way.ask(exchange))
        asking.add_done_callback(log_failure)
        try:
            with anyio.move_on_after(until - time.monotonic()):
                await exchange.settled.wait()
            exchange.give_up(f"no answer within {payload.timeout_seconds:g} s")
            if exchange.not_sent:
                raise NotSent(exchange.not_sent)
            outcome = exchange.outcome or failed("not sent", payload)
            if exchange.is_unauthorized and way.bearer.is_renewed(exchange.token):
                said = f"{outcome.error}; the next call brings a fresh token"
                return replace(outcome, error=said)
            if exchange.lost_session:
                # Perhaps it is asked elsewhere by now.
                self._cards.pop(way.address, None)
            if outcome.fate is not Fate.DONE:
                return outcome
            await asyncio.wait([asking])
            # What nobody expected of the SDK is logged, and leaves the message in doubt.
            broke = asking.cancelled() or asking.exception() is not None
            return await self._followed(way, None if broke else asking.result(), payload, until)
        finally:
            self._exchanges.discard(exchange)

    async def _followed(
        self, way: Way, told: dict[str, Any] | None, payload: Payload, until: float
    ) -> Outcome:
        """What became of a message that was taken: its task is looked at until it ends or the time is over."""
        if told is None:
            return in_doubt("the answer cannot be understood", payload)
        if told["state"] in a2a_told.GOING and told.get("task"):
            told = await self._awaited(way, told, payload, until)
        return a2a_told.outcome_of(told, payload)

    async def _awaited(
        self, way: Way, told: dict[str, Any], payload: Payload, until: float
    ) -> dict[str, Any]:
        pause = FIRST_LOOK_SECONDS
        with anyio.move_on_after(until - time.monotonic()) as looking:
            self._looking[payload.key] = looking
            try:
                while told["state"] in a2a_told.GOING:
                    await anyio.sleep(pause)
                    pause = min(pause * 1.5, LONGEST_LOOK_SECONDS)
                    found, trouble = await way.look(told["task"])
                    told = found or {**told, "trouble": trouble}
            finally:
                self._looking.pop(payload.key, None)
        return told

    async def _read(self, way: Way, payload: Payload, until: float) -> Outcome:
        try:
            with anyio.fail_after(until - time.monotonic()):
                if payload.tool == TASKS:
                    rows = await way.find(str(payload.args.get("message_id", "")))
                    return done({"tasks": rows}, payload)
                told, trouble = await way.look(str(payload.args.get("id", "")))
        except TimeoutError:
            return failed(f"no answer within {payload.timeout_seconds:g} s", payload)
        except AgentSaid as error:
            return failed(str(error), payload)
        if told is None:
            return failed(trouble, payload)
        if told["state"] in a2a_told.GOING:
            told = await self._awaited(way, told, payload, until)
        return done(told, payload)

    def _kept(self, address: Address) -> Card | None:
        card, until = self._cards.get(address, (None, 0.0))
        return card if time.monotonic() < until else None

    async def _card(self, address: Address) -> Card:
        return self._kept(address) or await self._read_card(address)

    async def _read_card(self, address: Address) -> Card:
        """Read the card anew and keep it. Raises `CatalogueUnreadable`."""
        self._cards.pop(address, None)
        try:
            card = read_card(await self._fetched(address), address.url)
        except CatalogueUnreadable as error:
            raise CatalogueUnreadable(f"{address.server}: {error}") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError, LiyagentError) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_TROUBLE]
            raise CatalogueUnreadable(f"{address.server}: its card: {said}") from error
        for other in [it for it in self._cards if it.server == address.server]:
            del self._cards[other]
        self._cards[address] = card, time.monotonic() + KEPT_SECONDS
        return card

    async def _fetched(self, address: Address) -> bytes:
        """The card's bytes. It is asked for with the token: some are shown to who is known alone."""
        bearer = Bearer(address, self._tokens)
        with anyio.move_on_after(CARD_SECONDS):
            token = await bearer.token()
            status, body = await self._got(address.url, token)
            if status == UNAUTHORIZED and bearer.is_renewed(token):
                status, body = await self._got(address.url, await bearer.token())
            if status != OK:
                raise CatalogueUnreadable(f"its card: HTTP status {status}")
            return body
        raise CatalogueUnreadable(f"its card: timed out after {CARD_SECONDS:g} s")

    async def _got(self, url: str, token: str) -> tuple[int, bytes]:
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = self._http.build_request("GET", url, headers=headers)
        answer = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            is_given = answer.status_code == OK
            return answer.status_code, await read_body(
                answer, CARD_LIMIT_BYTES
            ) if is_given else b""
        finally:
            await answer.aclose()
