"""Whether who asked for a job may still have it done: asked at each take, as for a run that goes on (CR-17)."""

from __future__ import annotations

from django.contrib.auth import get_user_model

# Who types commands on the machine holds its keys as well.
BY_SHELL = "cli:"


def standing_of(asked_by: str, *permissions: str) -> str:
    """Say what who asked lacks, empty where nothing. The shell is not asked."""
    if asked_by.startswith(BY_SHELL):
        return ""
    user = get_user_model().objects.filter(username=asked_by, is_active=True).first()
    if user is None:
        return f"{asked_by}, who asked for it, is no active user"
    missing = [it for it in permissions if not user.has_perm(it)]
    return f"{asked_by}, who asked for it, no longer holds {missing[0]}" if missing else ""
