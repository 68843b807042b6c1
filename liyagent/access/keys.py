"""Make, find and revoke API keys. Deadlines compare with the database's clock (ruling 1)."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import DateTimeField, Func, Q

from liyagent.access.errors import KeyUnknown, TooManyKeys, UserUnknown
from liyagent.access.models import ApiKey
from liyagent.access.scopes import ALL, check_scopes
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text

SCHEME = "liy"
PREFIX_BYTES = 6
SECRET_BYTES = 32
TOKEN = re.compile(r"liy_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
# Compared with where no key has the prefix, so that both cases take the same time.
NO_HASH = "0" * 64
USE_NOTED_EVERY = timedelta(minutes=1)
MOST_DAYS = 3650
MOST_KEYS = 100
MOST_NAMED = 10


class DatabaseNow(Func):
    """`liyagent_now()`, the one clock of deadlines."""

    function = "liyagent_now"
    output_field = DateTimeField()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key just made; `token` is shown this once."""

    key: ApiKey
    token: str


def create_key(
    *,
    name: str,
    username: str,
    days: int | None = None,
    until: datetime | None = None,
    scopes: Sequence[Any] = (ALL,),
    actor: str = "command line",
) -> NewKey:
    """Make a key for an active user, for `days` from now, else up to `until`; `scopes` narrow what it may use.

    Without both it has no end. Raises `UserUnknown`; `BadInput` for an empty name, days outside 1 to 3650 or a
    scope that is no permission; `TooManyKeys` where the user has 100 that are not revoked.
    """
    name = clean_text(name).strip()
    if not 1 <= len(name) <= 100:
        raise BadInput("the name of a key wants 1 to 100 characters")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise BadInput(f"days is {days}; it wants a whole number from 1 to {MOST_DAYS}")
    wanted = check_scopes(list(scopes))
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        user = _locked_user(username)
        if user.api_keys.filter(revoked_at=None).count() >= MOST_KEYS:
            raise TooManyKeys(f"{username} has {MOST_KEYS} keys; revoke one that is not needed")
        key = ApiKey.objects.create(
            name=name,
            prefix=prefix,
            secret_hash=_hash(secret),
            user=user,
            scopes=wanted,
            created_by=actor[:150],
            expires_at=until if days is None else DatabaseNow() + timedelta(days=days),
        )
        key.refresh_from_db()
        detail = {"key": prefix, "user": username, "name": name, "scopes": wanted}
        record("api_key.created", actor=actor, detail=detail)
    return NewKey(key=key, token=f"{SCHEME}_{prefix}_{secret}")


def revoke_key(prefix: str, *, actor: str, owner: str | None = None) -> None:
    """End a key at once, with the name of an `owner` one of theirs alone.

    Raises `KeyUnknown` where none of this prefix is in force or expired.
    """
    with transaction.atomic():
        keys = ApiKey.objects.filter(prefix=clean_text(prefix), revoked_at=None)
        if owner is not None:
            keys = keys.filter(user__username=owner)
        if keys.update(revoked_at=DatabaseNow()) != 1:
            raise KeyUnknown(f"there is no API key {prefix[:80]!r} to revoke")
        record("api_key.revoked", actor=actor, detail={"key": prefix})


def key_of(token: str) -> ApiKey | None:
    """Return the key that a token is, with its user; None for a wrong, expired or revoked one, or an inactive user."""
    parts = TOKEN.fullmatch(token)
    prefix, secret = parts.groups() if parts else ("", "")
    key = (
        ApiKey.objects.select_related("user")
        .annotate(now=DatabaseNow())
        .filter(Q(expires_at=None) | Q(expires_at__gt=DatabaseNow()))
        .filter(prefix=prefix, revoked_at=None, user__is_active=True)
        .first()
    )
    expected = NO_HASH if key is None else key.secret_hash
    if not secrets.compare_digest(expected, _hash(secret)) or key is None:
        return None
    if key.last_used_at is None or key.now - key.last_used_at >= USE_NOTED_EVERY:
        _note_use(key)
    return key


def _locked_user(username: str) -> User:
    """Two keys made at once are counted one after the other."""
    users = User.objects.select_for_update().filter(username=clean_text(username))
    user = users.filter(is_active=True).first()
    if user is None:
        known = ", ".join(
            User.objects.filter(is_active=True)
            .order_by("username")
            .values_list("username", flat=True)[:MOST_NAMED]
        )
        raise UserUnknown(
            f"there is no active user {username[:150]!r}; there are, among others: {known or 'none'}"
        )
    return user


def _note_use(key: ApiKey) -> None:
    """Write the time of use, at most once a minute whatever the number of requests at once."""
    ApiKey.objects.filter(pk=key.pk).filter(
        Q(last_used_at=None) | Q(last_used_at__lte=DatabaseNow() - USE_NOTED_EVERY)
    ).update(last_used_at=DatabaseNow())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
