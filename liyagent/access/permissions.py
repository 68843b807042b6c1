"""Closed by default: a view says which permissions each method needs (ruling 36)."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

OPERATE = "agents.operate"
VIEW_AGENT = "agents.view_agent"
VIEW_RUN = "runs.view_run"
READ_WORDS = "transcripts.content.read"


class HoldsPermissions(BasePermission):
    """Lets in who holds every permission that the view's `needs` names for the method.

    A view or method without an entry is for superusers alone.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Say whether the request's user may."""
        user = request.user
        if not (user.is_authenticated and user.is_active):
            return False
        if request.method not in view.allowed_methods:
            return True  # Known users are told 405.
        method = "GET" if request.method == "HEAD" else request.method
        needed = getattr(view, "needs", {}).get(method)
        if needed is None:
            return bool(user.is_superuser)
        missing = [name for name in needed if not user.has_perm(name)]
        if missing:
            self.message = f"This needs the permission {missing[0]}."
        return not missing


def may_read_words(user: Any) -> bool:
    """Whether tasks, answers, arguments and results may be shown to `user`."""
    return bool(user.has_perm(READ_WORDS))
