"""Make users, give them a role, switch them off and on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from liyagent.access.errors import LastOfItsKind, UserTaken, UserUnknown
from liyagent.access.roles import ADMINISTRATOR, find_role
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text

LONGEST_NAME = 150
PASSWORD_BYTES = 15
MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    """Of whom, and the password, which is stored nowhere as it is."""

    user: User
    password: str


def create_user(name: str, *, role: str, password: str = "", actor: str) -> NewPassword:
    """Make a user of a role who may log in to the console; without a password, one is made.

    The role `administrator` may do all. Raises `BadInput` for a name, role or password that cannot be used,
    `UserTaken` where the name is.
    """
    name = _checked_name(name)
    group = None if role == ADMINISTRATOR else find_role(role)
    user = User(username=name, is_staff=True, is_superuser=group is None)
    chosen = password or secrets.token_urlsafe(PASSWORD_BYTES)
    _check_password(chosen, user)
    user.set_password(chosen)
    with transaction.atomic():
        if User.objects.filter(username=name).exists():
            raise UserTaken(f"there is a user {name!r} already; `users list` shows them")
        user.save()
        if group is not None:
            user.groups.add(group)
        record("user.created", actor=actor, detail={"user": name, "role": role})
    return NewPassword(user=user, password=chosen)


def set_password(name: str, *, password: str = "", actor: str) -> NewPassword:
    """Give a user another password, which ends their sessions; without one, one is made.

    Raises `UserUnknown`, `BadInput`.
    """
    user = find_user(name)
    chosen = password or secrets.token_urlsafe(PASSWORD_BYTES)
    _check_password(chosen, user)
    user.set_password(chosen)
    with transaction.atomic():
        user.save(update_fields=["password"])
        record("user.password_set", actor=actor, detail={"user": user.username})
    return NewPassword(user=user, password=chosen)


def switch_user(name: str, *, is_active: bool, actor: str) -> None:
    """Switch a user on or off: off, their sessions and keys stand for nobody, and their runs are not resumed.

    Raises `UserUnknown`, or `LastOfItsKind` for the last active administrator.
    """
    with transaction.atomic():
        # Of two administrators who switch each other off, one is refused.
        administrators = list(
            User.objects.select_for_update()
            .filter(is_superuser=True, is_active=True)
            .order_by("pk")
        )
        user = find_user(name)
        if not is_active and [it.pk for it in administrators] == [user.pk]:
            raise LastOfItsKind(f"{name} is the last active administrator; make another one first")
        User.objects.filter(pk=user.pk).update(is_active=is_active)
        action = "user.enabled" if is_active else "user.disabled"
        record(action, actor=actor, detail={"user": user.username})


def find_user(name: str) -> User:
    """Return the user called `name`. Raises `UserUnknown` that names some there are."""
    user = User.objects.filter(username=clean_text(name)).first()
    if user is None:
        names = User.objects.order_by("username").values_list("username", flat=True)[:MOST_NAMED]
        raise UserUnknown(
            f"there is no user {name[:LONGEST_NAME]!r}; there are, among others: "
            f"{', '.join(names) or 'none yet'}"
        )
    return user


def _checked_name(name: str) -> str:
    name = User.normalize_username(clean_text(name))
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        name = ""
    if not 1 <= len(name) <= LONGEST_NAME:
        raise BadInput("the name of a user wants 1 to 150 letters, digits, @, ., +, - and _")
    return name


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadInput(f"the password cannot be used: {' '.join(error.messages)}") from None
