"""Closed by default: a view says which permissions each method needs (ruling 36)."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from liyagent.access.models import ApiKey
from liyagent.access.scopes import ALL, covers

OPERATE = "agents.operate"
VIEW_AGENT = "agents.view_agent"
VIEW_RUN = "runs.view_run"
READ_WORDS = "transcripts.content.read"
VIEW_APPROVAL = "approvals.view_approval"
DECIDE = "approvals.decide"
VIEW_TICKET = "tickets.view_ticket"
WORK_ON_TICKETS = "tickets.work"
KEEP_OWN_KEYS = "access.keep_own_keys"
END_ANY_KEY = "access.change_apikey"
VIEW_AUDIT = "audit.view_auditrow"
VIEW_CONCERN = "audit.view_concern"
HANDLE_CONCERN = "audit.handle_concern"


def holds(request: Request, permission: str) -> bool:
    """Whether a request may use a permission: its user holds it, and its key, if it has one, names it."""
    return bool(request.user.has_perm(permission)) and covers(scopes_of(request), permission)


def may_read_words(request: Request) -> bool:
    """Whether tasks, answers, arguments and results may be shown to who asks."""
    return holds(request, READ_WORDS)


def scopes_of(request: Request) -> Any:
    """Return the scopes of the key that a request came with; a session has no limit of its own."""
    return request.auth.scopes if isinstance(request.auth, ApiKey) else [ALL]


class HoldsPermissions(BasePermission):
    """Lets in who holds every permission that the view's `needs` names for the method.

    A view or method without an entry is for superusers alone, by session or with a key for all they hold.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Say whether the request may."""
        user = request.user
        if not (user.is_authenticated and user.is_active):
            return False
        if request.method not in view.allowed_methods:
            return True  # Known users are told 405.
        method = "GET" if request.method == "HEAD" else request.method
        needed = getattr(view, "needs", {}).get(method)
        if needed is None:
            return user.is_superuser and covers(scopes_of(request), ALL)
        missing = [name for name in needed if not holds(request, name)]
        if missing:
            self.message = _told(missing[0], is_of_the_user=user.has_perm(missing[0]))
        return not missing


def _told(permission: str, *, is_of_the_user: bool) -> str:
    if is_of_the_user:
        return f"This needs the permission {permission}, which the scopes of this key leave out."
    return f"This needs the permission {permission}."
