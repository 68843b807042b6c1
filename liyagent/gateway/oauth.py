"""Tokens by OAuth 2 client credentials (RFC 6749, 4.4): fetched once, kept until shortly before they lapse."""

from __future__ import annotations

import base64
import math
import re
import time
from dataclasses import dataclass
from urllib.parse import quote_plus

import anyio
import httpx2

from liyagent.core.environment import read_secret
from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_async_client
from liyagent.core.plain import NotStorable, parse_json
from liyagent.gateway.exchange import read_body

FETCH_SECONDS = 10.0
MOST_BYTES = 64 << 10
TOKEN = re.compile(r"[!-~]{1,16384}")
# Where the endpoint does not say how long its token lasts.
ASSUMED_SECONDS = 300.0
# Fetched again so long before it lapses, or after half of a short life.
EARLY_SECONDS = 30.0
LONGEST_WORDS = 200


class TokenRefused(LiyagentError):
    """The token endpoint gave no token that can be used."""

    code = "gateway.token_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Where tokens are fetched and as whom. `secret_env` names the variable that holds the secret."""

    token_url: str
    client_id: str
    secret_env: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    good_until: float

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() < self.good_until


class Tokens:
    """The tokens of this process, by credentials. All but `is_fresh` happens in one event loop."""

    def __init__(self) -> None:
        """Open the client that they are fetched with; it follows no redirect, so the secret goes nowhere else."""
        self._http = guarded_async_client(timeout_seconds=FETCH_SECONDS)
        self._kept: dict[Credentials, _Token] = {}
        self._locks: dict[Credentials, anyio.Lock] = {}

    def is_fresh(self, credentials: Credentials) -> bool:
        """Whether `token` will answer without asking anybody; may be asked from any thread."""
        kept = self._kept.get(credentials)
        return kept is not None and kept.is_fresh

    def seconds_left(self, credentials: Credentials) -> float:
        """For how long `token` will answer with the kept one; 0 where there is none."""
        kept = self._kept.get(credentials)
        return 0.0 if kept is None else max(0.0, kept.good_until - time.monotonic())

    async def token(self, credentials: Credentials) -> str:
        """Return a token that has not lapsed; of several callers at once one fetches it.

        Raises `TokenRefused` with what the endpoint said, `BadInput` for a secret that is not there.
        """
        async with self._locks.setdefault(credentials, anyio.Lock()):
            if not self.is_fresh(credentials):
                self._kept[credentials] = await self._fetch(credentials)
            return self._kept[credentials].value

    def forget(self, credentials: Credentials, token: str) -> None:
        """Use `token` no more: a server refused it. One fetched since then stays."""
        kept = self._kept.get(credentials)
        if kept is not None and kept.value == token:
            del self._kept[credentials]

    async def close(self) -> None:
        """Shut the connections."""
        await self._http.aclose()

    async def _fetch(self, credentials: Credentials) -> _Token:
        asked_at = time.monotonic()
        form = {"grant_type": "client_credentials"}
        if credentials.scope:
            form["scope"] = credentials.scope
        headers = {"Authorization": _basic(credentials), "Accept": "application/json"}
        try:
            with anyio.fail_after(FETCH_SECONDS):
                request = self._http.build_request(
                    "POST", credentials.token_url, data=form, headers=headers
                )
                answer = await self._http.send(request, stream=True, follow_redirects=False)
                try:
                    body = await read_body(answer, MOST_BYTES)
                finally:
                    await answer.aclose()
            said = parse_json(body)
        except NotStorable as error:
            status = f" (status {answer.status_code})"
            raise TokenRefused(
                f"{_where(credentials)} cannot be understood{status}: {error}"
            ) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError, LiyagentError) as error:
            told = f"{type(error).__name__}: {error}"
            raise TokenRefused(f"{_where(credentials)} cannot be reached: {told}") from error
        return _token_in(said, answer.status_code, asked_at, _where(credentials))


def _token_in(said: object, status: int, asked_at: float, where: str) -> _Token:
    if not isinstance(said, dict) or status != 200:
        error = said.get("error") if isinstance(said, dict) else None
        told = f": {str(error)[:LONGEST_WORDS]}" if error else ""
        raise TokenRefused(f"{where} answered with status {status}{told}")
    value = said.get("access_token")
    if not isinstance(value, str) or not TOKEN.fullmatch(value):
        raise TokenRefused(f"{where} answered without an access_token that can be used")
    if str(said.get("token_type", "")).lower() != "bearer":
        raise TokenRefused(f"{where} gave a token of another type than bearer")
    return _Token(value, asked_at + _usable_seconds(said.get("expires_in")))


def _usable_seconds(lasts: object) -> float:
    """How long a token is used; some endpoints write the seconds as text."""
    try:
        seconds = float(lasts) if isinstance(lasts, int | float | str) else ASSUMED_SECONDS
    except (ValueError, OverflowError):
        seconds = ASSUMED_SECONDS
    if not math.isfinite(seconds):
        seconds = ASSUMED_SECONDS
    return max(seconds - EARLY_SECONDS, seconds / 2)


def _basic(credentials: Credentials) -> str:
    """`client_secret_basic`: both halves form-encoded first (RFC 6749, 2.3.1)."""
    pair = f"{quote_plus(credentials.client_id)}:{quote_plus(read_secret(credentials.secret_env))}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _where(credentials: Credentials) -> str:
    return f"the token endpoint {credentials.token_url}"
