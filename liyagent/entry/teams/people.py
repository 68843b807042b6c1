"""Say which user of ours a Teams account is: its buttons have that user's rights, and no others."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.entry.errors import MayNotName
from liyagent.entry.teams.errors import PersonUnknown
from liyagent.entry.teams.models import NOW, TeamsPerson
from liyagent.entry.whom import NAME_OTHERS, Saver, named_by


def account_id(text: Any) -> str:
    """Return the object id of an account as it is kept. Raises `BadInput`."""
    try:
        return str(UUID(text)) if isinstance(text, str) and len(text) == 36 else _bad(text)
    except ValueError:
        return _bad(text)


def find_person(account: str) -> TeamsPerson:
    """Return a person by the account. Raises `PersonUnknown`, `BadInput`."""
    person = TeamsPerson.objects.filter(aad_object_id=account_id(account)).first()
    if person is None:
        raise PersonUnknown(f"account {account[:80]!r} is nobody known here")
    return person


def save_person(account: str, username: str, *, saver: Saver) -> TeamsPerson:
    """Say that a Teams account is a user. Anybody who may operate says so of themselves.

    Of others, and of an account that is another's, who keeps users. Raises `MayNotName`, `BadInput`.
    """
    account = account_id(account)
    with transaction.atomic(durable=True):
        found = TeamsPerson.objects.select_for_update().filter(aad_object_id=account).first()
        before = found.username if found else ""
        if before and before != saver.username and not saver.may_name_others:
            raise MayNotName(f"this account is {before!r}; to change that needs {NAME_OTHERS}")
        name = named_by(saver, username)
        person = TeamsPerson(aad_object_id=account, username=name, saved_by=saver.actor[:150], updated_at=NOW)  # fmt: skip
        person.save(force_insert=found is None, force_update=found is not None)
        person.refresh_from_db()
        record(
            "teams.person_saved",
            actor=saver.actor,
            detail={"account": account, "user": name, "before": before},
        )
    return person


def remove_person(account: str, *, actor: str) -> None:
    """Let a Teams account be nobody. Raises `PersonUnknown`, `BadInput`."""
    with transaction.atomic(durable=True):
        person = find_person(account)
        told = {"account": person.aad_object_id, "user": person.username}
        person.delete()
        record("teams.person_removed", actor=actor, detail=told)


def _bad(text: Any) -> str:
    raise BadInput(f"{str(text)[:80]!r} is no object id of an account in Entra; it wants a UUID")
