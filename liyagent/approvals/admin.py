"""Requests that wait for a person, in the console: to read, and to decide about."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from liyagent.access.permissions import READ_WORDS
from liyagent.approvals import history, pages
from liyagent.approvals.affected import affected_by
from liyagent.approvals.authority import policies_changed, policies_now
from liyagent.approvals.deciding import VERBS, DecidingAdmin, may_decide, may_withdraw
from liyagent.approvals.forms import HELP
from liyagent.approvals.handlers import ROUTINE
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.saying import saying_of
from liyagent.approvals.told import replaced_by
from liyagent.core.tables import cell


@admin.register(Approval)
class ApprovalAdmin(DecidingAdmin):
    """The page of a request."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever decides has to see about what."""
        return bool(super().has_view_permission(request, obj)) or may_decide(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the page of a request, or one of its long texts; nothing is changed by it."""
        approval = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, approval):
            raise PermissionDenied
        if approval is None:
            told = f"There is no request {cell(object_id)[:80]}. Those that wait are listed here."
            self.message_user(request, told, messages.WARNING)
            return HttpResponseRedirect(self.list_address())
        if request.GET.get("show"):
            return self.text_view(request, approval, request.GET["show"])
        return self.page(request, approval)

    def page(
        self,
        request: HttpRequest,
        approval: Approval,
        *,
        forms: dict[str, Any] | None = None,
        refused: str = "",
        status: int = 200,
    ) -> HttpResponse:
        """Show a request; with forms for those alone who may decide, while there is something to decide."""
        with_words, decides = may_read(request), may_decide(request)
        opened = pages.opened(approval) if with_words else None
        others, is_more = pages.same_digest(approval)
        is_open, is_pending = pages.is_open(approval), approval.status == ApprovalStatus.PENDING
        name = request.user.get_username()
        offers = decides and is_open and opened is not None and not opened.why
        is_changed = policies_changed(approval, now=policies_now())
        withdraws = is_pending and may_withdraw(request, approval)
        saying = saying_of(approval)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Request {approval.id}",
            "approval": approval,
            "state": pages.state_of(approval),
            "expiry": pages.expiry_of(approval),
            "outcome": history.outcome_of(approval),
            "waited": pages.waited(approval),
            "is_open": is_open,
            "is_pending": is_pending,
            "policies_changed": is_changed,
            "refused": refused,
            "with_words": with_words,
            "decides": decides,
            "cannot_open": opened.why if opened else "",
            "args": pages.shown_arguments(opened.args, page_asked(request, "lines"))
            if opened and opened.args is not None
            else None,
            "heading": pages.HEADINGS.get(approval.status, pages.NOT_SENT),
            "reason": pages.reason_of(approval),
            "saying": saying,
            "affected": affected_by(approval) if saying.is_call else [],
            "ceiling": pages.ceiling_of(approval) if saying.is_call else [],
            "others": others,
            "is_more_of_others": is_more,
            "history": history.history_of(approval),
            "offers": offers,
            "withdraws": withdraws,
            "is_own": pages.asked_for_by(approval, name),
            "forms": {**self.fresh_forms(approval), **(forms or {})} if withdraws else {},
            "sent": next(iter(forms or {}), ""),
            "is_kept": status == HTTPStatus.BAD_REQUEST,
            "help": {**HELP, "reject": saying.reject_help or HELP["reject"]},
            "approve_button": "✓ Approve: have it asked for anew"
            if is_changed
            else saying.approve[1],
            "links": self.links_of(request, approval),
            **self.around(request, approval, opened.args if opened else None),
        }
        template = f"admin/approvals/approval/{saying.page}"
        return TemplateResponse(request, template, context, status=status)

    def text_view(self, request: HttpRequest, approval: Approval, asked: str) -> HttpResponse:
        """Show a part of one long text of a request."""
        if not may_read(request):
            raise PermissionDenied
        number = page_asked(request, "part")
        opened = pages.opened(approval)
        whole = self.text_around(approval, asked, number) or (
            pages.whole_of(opened.args, asked, number) if opened.args is not None else None
        )
        if whole is None:
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Request {approval.id}",
            "whole": whole,
            "asked": asked,
            "back": self.page_address(approval),
        }
        return TemplateResponse(request, "admin/approvals/approval/text.html", context)

    def around(
        self, request: HttpRequest, approval: Approval, args: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return what the page tells of the run; the rooms above know of runs, and this one does not.

        `args` are what is asked for, None where they may not be read here, or cannot be.
        """
        return {}

    def text_around(self, approval: Approval, asked: str, number: int) -> dict[str, Any] | None:
        """Return a part of a long text of the run; None where there is none of this name."""
        return None

    def links_of(self, request: HttpRequest, approval: Approval) -> dict[str, str]:
        """Return where the page leads, as far as the user may follow."""
        here = {it: reverse(f"admin:approvals_approval_{it}", args=[approval.pk]) for it in VERBS}
        here |= {"list": self.list_address(), "page": self.page_address(approval)}
        if approval.kind == ROUTINE:
            here["routine"] = reverse("admin:routines_routine_change", args=[approval.run_id])
        elif request.user.has_perm("runs.view_run"):
            here["run"] = reverse("admin:runs_run_change", args=[approval.run_id])
        if request.user.has_perm("audit.view_auditrow") and approval.kind != ROUTINE:
            here["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?q={approval.run_id}"
        if approval.replaces:
            here["replaces"] = reverse("admin:approvals_approval_change", args=[approval.replaces])
        later = replaced_by(approval) if approval.status == ApprovalStatus.STALE else None
        if later:
            here["replaced_by"] = reverse("admin:approvals_approval_change", args=[later])
        return here


def may_read(request: HttpRequest) -> bool:
    """Whether whoever asks may see arguments: to decide about them, or because they may read words."""
    return may_decide(request) or request.user.has_perm(READ_WORDS)


def page_asked(request: HttpRequest, name: str) -> int:
    """Return the number of a page that is asked for, the first for what is no number."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
