"""The scopes of a key: names of permissions, `"*"` for all that its user holds."""

from __future__ import annotations

import difflib
from typing import Any

from django.contrib.auth.models import Permission

from liyagent.core.errors import BadInput

ALL = "*"
MOST_SCOPES = 100
MOST_NAMED = 8


def covers(scopes: Any, permission: str) -> bool:
    """Whether a key of these scopes may use a permission of its user; anything but a list covers none."""
    return isinstance(scopes, list) and (ALL in scopes or permission in scopes)


def check_scopes(scopes: Any) -> list[str]:
    """Return the scopes without repeats. Raises `BadInput` that names the permissions most like a wrong one."""
    if not isinstance(scopes, list) or not 1 <= len(scopes) <= MOST_SCOPES:
        raise BadInput(
            f"scopes wants a list of 1 to {MOST_SCOPES} permissions such as runs.view_run, or *"
        )
    known = permission_names()
    for scope in scopes:
        if scope != ALL and scope not in known:
            raise BadInput(f"there is no permission {str(scope)[:80]!r}; {_named(scope, known)}")
    return list(dict.fromkeys(scopes))


def permission_names() -> set[str]:
    """Return every permission there is, as `app.codename`."""
    pairs = Permission.objects.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in pairs}


def _named(wrong: Any, known: set[str]) -> str:
    near = difflib.get_close_matches(str(wrong)[:80], sorted(known), MOST_NAMED, 0.5)
    return f"there are, among others: {', '.join(near or sorted(known)[:MOST_NAMED])}"
