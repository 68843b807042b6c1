"""What the principal of a call may: resolved once a configuration version, bounded, never by the gate itself."""

from __future__ import annotations

from threading import Lock

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Q

from liyagent.gateway.outcome import Rights
from liyagent.gateway.versioned import ByVersion

MOST_PRINCIPALS = 10_000


class KnownRights:
    """The rights of at most 10,000 principals; the oldest gives way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rights: dict[str, Rights] = {}

    def of(self, principal: str) -> Rights:
        """Return what `principal` may, read from the tables the first time."""
        found = self._rights.get(principal)
        return found if found is not None else self._keep(_read(principal))

    def _keep(self, rights: Rights) -> Rights:
        with self._lock:
            if len(self._rights) >= MOST_PRINCIPALS:
                self._rights.pop(next(iter(self._rights)))
            self._rights[rights.principal] = rights
        return rights


def rights_of(principal: str, *, version: int) -> Rights:
    """Return what `principal` (a username, "" for nobody) may call at a configuration version.

    A change of users, groups or their permissions raises the version, so it acts at the next statement
    of a run (ruling 5); no version is asked of the tables twice.
    """
    return _known.at(version).of(principal)


def forget_rights() -> None:
    """Drop what was read: for a process that changed databases."""
    _known.forget()


def _read(principal: str) -> Rights:
    if not principal:
        return Rights(principal="", is_active=False)
    try:
        user = get_user_model().objects.filter(username=principal, is_active=True).first()
        if user is None:
            return Rights(principal=principal, is_active=False)
        held = Permission.objects.filter(
            Q(user=user) | Q(group__user=user),
            content_type__app_label="gateway",
            content_type__model="tool",
        )
        return Rights(
            principal=principal,
            is_active=True,
            holds_all=user.is_superuser,
            permissions=frozenset(held.values_list("codename", flat=True)),
        )
    finally:
        # A run's thread keeps no connection while it waits for models and tools.
        if not connection.in_atomic_block:
            connection.close()


_known = ByVersion(lambda _version: KnownRights())
