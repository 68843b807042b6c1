"""Make, find and revoke API keys. Deadlines compare with the database's clock (ruling 1)."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import DateTimeField, Func, Q

from liyagent.access.errors import KeyUnknown, UserUnknown
from liyagent.access.models import ApiKey
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
    *, name: str, username: str, days: int | None = None, actor: str = "command line"
) -> NewKey:
    """Make a key for an active user, for `days` from now or without end.

    Raises `UserUnknown`, or `BadInput` for an empty name or days outside 1 to 3650.
    """
    name = clean_text(name).strip()
    if not 1 <= len(name) <= 100:
        raise BadInput("the name of a key wants 1 to 100 characters")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise BadInput(f"days is {days}; it wants a whole number from 1 to {MOST_DAYS}")
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise UserUnknown(f"there is no active user {username!r}")
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        key = ApiKey.objects.create(
            name=name,
            prefix=prefix,
            secret_hash=_hash(secret),
            user=user,
            expires_at=None if days is None else DatabaseNow() + timedelta(days=days),
        )
        key.refresh_from_db()
        record(
            "api_key.created", actor=actor, detail={"key": prefix, "user": username, "name": name}
        )
    return NewKey(key=key, token=f"{SCHEME}_{prefix}_{secret}")


def revoke_key(prefix: str, *, actor: str) -> None:
    """End a key at once. Raises `KeyUnknown` where none of this prefix is in force or expired."""
    with transaction.atomic():
        rows = ApiKey.objects.filter(prefix=prefix, revoked_at=None).update(
            revoked_at=DatabaseNow()
        )
        if rows != 1:
            raise KeyUnknown(f"there is no API key {prefix!r} to revoke")
        record("api_key.revoked", actor=actor, detail={"key": prefix})


def user_of(token: str) -> AbstractBaseUser | None:
    """Return whom a token stands for; None for a wrong, expired or revoked one, or an inactive user."""
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
    return key.user


def _note_use(key: ApiKey) -> None:
    """Write the time of use, at most once a minute whatever the number of requests at once."""
    ApiKey.objects.filter(pk=key.pk).filter(
        Q(last_used_at=None) | Q(last_used_at__lte=DatabaseNow() - USE_NOTED_EVERY)
    ).update(last_used_at=DatabaseNow())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
