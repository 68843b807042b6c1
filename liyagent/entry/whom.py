"""Who saves something that acts as a user: oneself may be named by anybody, others by who keeps users."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from liyagent.core.errors import BadInput
from liyagent.entry.errors import MayNotName

NAME_OTHERS = "auth.change_user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saver:
    """Who saves: `actor` for the audit log, `username` where it is a user of ours."""

    actor: str
    username: str = ""
    may_name_others: bool = False


def named_by(saver: Saver, wanted: str, *, standing: str = "") -> str:
    """Return as whom it acts: who is named, else who stands where the saver may name them, else the saver.

    Raises `MayNotName`, `BadInput` where that is no active user.
    """
    name = wanted or (standing if saver.may_name_others else "") or saver.username
    if not name:
        raise BadInput(
            "no user is named as whose its runs are: started_by wants one, at the shell --started-by"
        )
    if name != saver.username and not saver.may_name_others:
        raise MayNotName(f"naming {name[:150]!r} needs the permission {NAME_OTHERS}")
    if not User.objects.filter(username=name, is_active=True).exists():
        raise BadInput(f"there is no active user {name[:150]!r}: `manage.py users list` shows them")
    return name
