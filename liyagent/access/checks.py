"""What `manage.py check --deploy` looks at: that nobody who may do all has a password that everybody knows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import checks
from django.db import DatabaseError, connection

from liyagent.core.checks import TAG

KNOWN = ("admin", "password", "liyagent", "changeme")
MOST_USERS = 10


@checks.register(TAG, deploy=True)
def check_administrators(**_: Any) -> Iterable[checks.CheckMessage]:
    """Try the demo's password and those that anybody would on each administrator."""
    try:
        users = list(
            User.objects.filter(is_superuser=True, is_active=True).order_by("pk")[:MOST_USERS]
        )
    except DatabaseError:
        connection.close()
        return
    if not users:
        yield checks.Warning(
            "there is no administrator",
            hint="Make one: `manage.py users create NAME --role administrator`.",
            id="liyagent.W020",
        )
    for user in users:
        if user.has_usable_password() and any(user.check_password(it) for it in _known_to(user)):
            yield checks.Error(
                f"the administrator {user.username} has the demo's password, or one that anybody would try",
                hint=f"Give another one: `manage.py users password {user.username}`.",
                id="liyagent.E021",
            )


def _known_to(user: User) -> Iterator[str]:
    seeded = os.environ.get("LIYAGENT_ADMIN_PASSWORD", "")
    kept = settings.LIYAGENT.state_dir / "admin-password"
    yield from (it for it in (seeded, kept.read_text().strip() if kept.is_file() else "") if it)
    yield from (user.username, *KNOWN)
