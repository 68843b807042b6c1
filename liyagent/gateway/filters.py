"""How lists of tools are narrowed in the console."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest


class ByApproval(admin.SimpleListFilter):
    """Chooses the tools that wait for an operator."""

    title = "approval"
    parameter_name = "approval"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """Return the choices."""
        return [("waiting", "waiting for approval"), ("approved", "approved")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the chosen tools; what is not offered waits for nobody."""
        if self.value() == "waiting":
            return queryset.filter(is_offered=True).exclude(fingerprint=F("approved_fingerprint"))
        return queryset.filter(fingerprint=F("approved_fingerprint")) if self.value() else queryset
