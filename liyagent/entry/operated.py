"""Pages of the console on which a way in is set up: seen by who may see agents, kept by who may operate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from liyagent.access.permissions import OPERATE, VIEW_AGENT, VIEW_RUN
from liyagent.core.console import NothingToSay, VerbAdmin
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.entry.whom import NAME_OTHERS, Saver


def saver_in(request: HttpRequest) -> Saver:
    """Return who saves by a page, and whether they may name others."""
    name = request.user.get_username()
    return Saver(actor=name, username=name, may_name_others=request.user.has_perm(NAME_OTHERS))


class OperatedAdmin(VerbAdmin):
    """Rows that verbs alone save and remove."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see agents."""
        return request.user.has_perm(VIEW_AGENT) or request.user.has_perm(OPERATE)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def removed(
        self, request: HttpRequest, row: Any, verb: Callable[[], object], *, told: list[str]
    ) -> HttpResponse:
        """Ask, then carry out a removal."""
        if request.method == "POST":
            self.carry_out(request, verb, done=f"{row} is removed.")
            return HttpResponseRedirect(self.list_address())
        return self.confirm(
            request,
            title=f"Remove {row}",
            told=told,
            button="Remove it",
            form=NothingToSay(),
            extra={"cancel": self.page_address(row)},
        )


class SeenWithRuns(ReadOnlyAdmin):
    """Rows of what came in and what became of it, for whoever may see runs."""

    sortable_by = ()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see runs."""
        return request.user.has_perm(VIEW_RUN)


class ShownAsArrival(SeenWithRuns):
    """A list of arrivals of some ways; the page of one is that of any arrival."""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Lead to the page of what came in."""
        return HttpResponseRedirect(reverse("admin:entry_arrival_change", args=[object_id]))
