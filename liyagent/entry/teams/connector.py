"""The channel's own end: a token by client credentials, an activity posted, an activity updated."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.parse import quote

from liyagent.core.environment import read_secret
from liyagent.core.errors import LiyagentError
from liyagent.core.outbox import ANSWER_SECONDS, wanted_pause
from liyagent.entry.teams.addresses import SAFE_ADDRESS, is_safe_address
from liyagent.entry.teams.fetch import Fetched, FetchFailed, fetch
from liyagent.entry.teams.models import TeamsBot
from liyagent.entry.ways import Sent

logger = logging.getLogger(__name__)

TOKEN = re.compile(r"[!-~]{1,16384}")
# Fetched again so long before it lapses.
EARLY_SECONDS, ASSUMED_SECONDS = 300.0, 600.0
LONGEST_ID, LONGEST_WHY = 300, 200
# Told to come again: nothing of these was taken on. 412: another change of the conversation was under way.
AGAIN = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PRECONDITION_FAILED, HTTPStatus.TOO_MANY_REQUESTS})  # fmt: skip
UNCLEAR = frozenset({HTTPStatus.REQUEST_TIMEOUT})


class TokenRefused(LiyagentError):
    """No token was given out for the bot."""

    code = "teams.token_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a bot speaks: the service that its conversation is on."""

    bot: TeamsBot
    service_url: str
    conversation: str

    @property
    def address(self) -> str:
        """The address of the conversation's activities."""
        service, conversation = self.service_url.rstrip("/"), quote(self.conversation, safe="")
        return f"{service}/v3/conversations/{conversation}/activities"


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    good_until: float


class Tokens:
    """The bots' own tokens in this process, for any thread."""

    def __init__(self) -> None:
        """Nothing is fetched before one is asked for."""
        self._kept: dict[tuple[str, ...], _Token] = {}
        self._lock = Lock()

    def token(self, bot: TeamsBot) -> str:
        """Return a token that has not lapsed. Raises `TokenRefused`, `BadInput` for a secret that is not there."""
        key = _credentials(bot)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or time.monotonic() >= kept.good_until:
                kept = self._kept[key] = _fetched(bot)
            return kept.value

    def forget(self, bot: TeamsBot) -> None:
        """Use the kept one no more: it was refused."""
        with self._lock:
            self._kept.pop(_credentials(bot), None)


TOKENS = Tokens()


def post(place: Place, activity: dict[str, Any], *, mark: Callable[[], None]) -> Sent:
    """Post an activity; its id is the `vendor_id`. Without a key: one of unclear outcome may stand there."""
    sent = _send("POST", place.address, place.bot, activity, mark)
    if not sent.error and not sent.vendor_id:
        return Sent(error="the channel gave no id of what was posted", is_final=True)
    return sent


def update(place: Place, activity_id: str, activity: dict[str, Any], *, mark: Callable[[], None]) -> Sent:  # fmt: skip
    """Put an activity in the place of one that was posted; however often, it stands there once."""
    address = f"{place.address}/{quote(activity_id, safe='')}"
    sent = _send("PUT", address, place.bot, {**activity, "id": activity_id}, mark)
    return sent if sent.error else Sent(vendor_id=activity_id)


def _send(method: str, url: str, bot: TeamsBot, body: dict[str, Any], mark: Callable[[], None]) -> Sent:  # fmt: skip
    if not is_safe_address(url.partition("/v3/")[0]):
        return Sent(error=f"the service address cannot be called; it wants {SAFE_ADDRESS}", is_final=True)  # fmt: skip
    try:
        headers = {"authorization": f"Bearer {TOKENS.token(bot)}"}
    except LiyagentError as error:
        # A bot without its secret, or with a wrong one, holds up no other.
        return Sent(error=str(error), is_down=isinstance(error.__cause__, FetchFailed))
    try:
        answer = fetch(
            method, url, seconds=ANSWER_SECONDS, before_send=mark, headers=headers, json=body
        )
    except FetchFailed as error:
        return Sent(error=str(error), may_have_arrived=error.has_left, is_down=True)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        TOKENS.forget(bot)
    return _sent(answer)


def _sent(answer: Fetched) -> Sent:
    """What a status means: done, not now, unclear, or never."""
    if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        found = answer.said.get("id")
        return Sent(vendor_id=found if isinstance(found, str) and len(found) <= LONGEST_ID else "")
    pause = wanted_pause(answer.headers.get("retry-after", ""))
    told = f"HTTP {answer.status}{_why(answer.said)}"
    is_unclear = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in UNCLEAR
    if is_unclear or answer.status in AGAIN:
        is_down = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return Sent(error=told, may_have_arrived=is_unclear, is_down=is_down, wanted_pause=pause)
    return Sent(error=told, is_final=True)


def _why(said: dict[str, Any]) -> str:
    """What the channel says of an error: `{"error": {"code": ..., "message": ...}}`."""
    error = said.get("error")
    if not isinstance(error, dict):
        return ""
    return f": {error.get('code', '')} {error.get('message', '')}"[:LONGEST_WHY].rstrip()


def _credentials(bot: TeamsBot) -> tuple[str, ...]:
    return bot.tokens_from, bot.app_id, bot.secret_env, bot.scope


def _fetched(bot: TeamsBot) -> _Token:
    form = {
        "grant_type": "client_credentials",
        "client_id": bot.app_id,
        "client_secret": read_secret(bot.secret_env),
        "scope": bot.scope,
    }
    where = f"the token endpoint {bot.tokens_from}"
    if not is_safe_address(bot.tokens_from):
        raise TokenRefused(f"{where} cannot be called; it wants {SAFE_ADDRESS}")
    asked_at = time.monotonic()
    try:
        answer = fetch("POST", bot.tokens_from, seconds=ANSWER_SECONDS, form=form)
    except FetchFailed as error:
        raise TokenRefused(f"{where} cannot be reached: {error}") from error
    value, lasts = answer.said.get("access_token"), answer.said.get("expires_in")
    if answer.status != HTTPStatus.OK or not isinstance(value, str) or not TOKEN.fullmatch(value):
        told = str(answer.said.get("error_description") or answer.said.get("error") or "")
        raise TokenRefused(f"{where} answered with status {answer.status} {told[:LONGEST_WHY]}")
    seconds = float(lasts) if isinstance(lasts, int) and 0 < lasts < 1e6 else ASSUMED_SECONDS
    return _Token(value, asked_at + max(seconds - EARLY_SECONDS, seconds / 2))
