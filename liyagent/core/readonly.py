"""An admin page that only shows."""

from __future__ import annotations

from django.db.models import Model
from django.http import HttpRequest

from liyagent.core.console import ConsoleAdmin


class ReadOnlyAdmin(ConsoleAdmin):
    """No add, change or delete: for tables whose rows only verbs, or nobody, may change."""

    actions: tuple[str, ...] | None = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds a row by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes a row by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes a row by hand."""
        return False
