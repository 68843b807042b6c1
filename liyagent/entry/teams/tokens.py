"""Check the channel's token: who it is for, who gave it, until when, by which key (libraries, section 11)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jwt
from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from liyagent.access.attempts import count_bad_key
from liyagent.core.api import TryLater
from liyagent.core.client_address import client_address
from liyagent.entry.teams.errors import KeysAway
from liyagent.entry.teams.keys import SigningKey, signing_keys
from liyagent.entry.teams.models import NOW, TeamsBot

ALGORITHMS = ["RS256"]
LEEWAY_SECONDS = 300
LONGEST_TOKEN = 16_384
AGAIN_SECONDS = 60
SERVICE = "serviceurl"
APP_ID = re.compile(r"[0-9A-Za-z-]{1,36}")


class BadToken(Exception):
    """Why a token is none of the channel's for a bot of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What a token that was checked says: for which bot, from which service, for which channels."""

    bot: TeamsBot
    service_url: str
    endorsements: frozenset[str]


def check_token(token: str) -> Vouched:
    """Return what a token vouches for. Raises `BadToken` with why it does not, `KeysAway`.

    Its audience names the bot, so that the bot's own metadata address and issuer judge it. Times are compared with the
    database's clock.
    """
    if len(token) > LONGEST_TOKEN:
        raise BadToken("it is too long")
    try:
        header = jwt.get_unverified_header(token)
        claimed = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError as error:
        raise BadToken(f"it is no token: {error}") from None
    audience = claimed.get("aud")
    if header.get("alg") not in ALGORITHMS:
        raise BadToken(f"its algorithm is not {ALGORITHMS[0]}")
    bot = _bot(audience) if isinstance(audience, str) else None
    if bot is None or not isinstance(audience, str):
        raise BadToken("its audience is no bot of ours")
    key = signing_keys(bot.metadata_url).find(str(header.get("kid", "")))
    if key is None:
        raise BadToken("it is signed by a key that the channel does not have")
    claims = _verified(token, key, bot, audience)
    service = claims.get(SERVICE, claims.get("serviceUrl"))
    if not isinstance(service, str) or not service:
        raise BadToken("it names no service address")
    return Vouched(bot=bot, service_url=service, endorsements=key.endorsements)


def _bot(app_id: str) -> TeamsBot | None:
    if not APP_ID.fullmatch(app_id):
        return None
    return TeamsBot.objects.annotate(now=NOW).filter(app_id=app_id.lower()).first()


def _verified(token: str, key: SigningKey, bot: Any, audience: str) -> dict[str, Any]:
    try:
        claims = jwt.decode(
            token,
            key.public,
            algorithms=ALGORITHMS,
            audience=audience,
            issuer=bot.issuer,
            # Times are compared below, with the database's clock.
            options={
                "require": ["exp", "iss", "aud"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except jwt.PyJWTError as error:
        raise BadToken(str(error)) from None
    _check_times(claims, bot.now)
    return claims


def _check_times(claims: dict[str, Any], now: datetime) -> None:
    at = now.timestamp()
    until, since = claims["exp"], claims.get("nbf", 0)
    if not _is_time(until) or not _is_time(since):
        raise BadToken("its times are no numbers")
    if until < at - LEEWAY_SECONDS:
        raise BadToken("it has expired")
    if since > at + LEEWAY_SECONDS:
        raise BadToken("it is not valid yet")


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


class ChannelToken(BaseAuthentication):
    """Lets in who bears the channel's token; `request.auth` is what it vouches for."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Vouched] | None:
        """Return who it is, None where no token is given.

        Raises `AuthenticationFailed`, `Throttled` where too many bad ones came from the same address,
        `TryLater` while the channel's keys cannot be read.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            return AnonymousUser(), check_token(token.strip())
        except KeysAway as error:
            raise TryLater(error.detail, seconds=AGAIN_SECONDS) from None
        except BadToken as error:
            seconds = count_bad_key(client_address(request.META))
            if seconds:
                raise Throttled(wait=seconds) from None
            raise AuthenticationFailed(f"The channel's token is refused: {error}.") from None

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that a missing token answers 401."""
        return 'Bearer realm="liyagent-teams"'


class IsVouchedFor(BasePermission):
    """Lets in what bears a checked token, and nothing else."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Say whether it does."""
        return isinstance(request.auth, Vouched)
