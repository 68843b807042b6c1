"""Requests that wait for a person, in the console: to read, and to decide about. What is decided is decided by the verb."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from liyagent.access.permissions import DECIDE, READ_WORDS
from liyagent.approvals import pages
from liyagent.approvals.affected import affected_by
from liyagent.approvals.decide import decide
from liyagent.approvals.errors import AlreadyDecided
from liyagent.approvals.inbox import InboxAdmin
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import LiyagentError
from liyagent.core.tables import cell

VERBS = {"approve": ApprovalStatus.APPROVED, "reject": ApprovalStatus.REJECTED}


@admin.register(Approval)
class ApprovalAdmin(InboxAdmin):
    """The page of a request, and the two addresses that a decision is sent to."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever decides has to see about what."""
        return bool(super().has_view_permission(request, obj)) or may_decide(request)

    def get_urls(self) -> list[Any]:
        """Add the two addresses of a decision."""
        ours = [
            path(
                f"<path:object_id>/{verb}/",
                self.admin_site.admin_view(self.decided),
                {"verb": verb},
                name=f"approvals_approval_{verb}",
            )
            for verb in VERBS
        ]
        return [*ours, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the page of a request, or one of its long texts; nothing is changed by it."""
        approval = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, approval):
            raise PermissionDenied
        if approval is None:
            redirect: HttpResponse = self._get_obj_does_not_exist_redirect(
                request, self.opts, object_id
            )
            return redirect
        if request.GET.get("show"):
            return self.text_view(request, approval, request.GET["show"])
        return self.page(request, approval)

    def decided(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Decide about what was shown, by POST alone; what the verb refuses is told on the page."""
        if not may_decide(request):
            raise PermissionDenied
        approval = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(self.page_address(approval))
        form = pages.DecisionForm(request.POST, auto_id=f"{verb}_%s")
        if not form.is_valid():
            return self.page(request, approval, forms={verb: form}, status=400)
        try:
            decide(approval_id=approval.id, status=VERBS[verb], actor=request.user.get_username(), **form.cleaned_data)  # fmt: skip
        except LiyagentError as error:
            now = self.row_or_404(request, object_id)
            told = told_of(error, now)
            status = int(error.http_status)
            return self.page(request, now, forms={verb: form}, refused=told, status=status)
        told = "it is made exactly as shown, unless policies or rights have changed since it was asked for: then it asks anew." if verb == "approve" else "the call is not made, and the agent is told why."  # fmt: skip
        self.message_user(
            request,
            f"{verb.capitalize().rstrip('e')}ed {cell(approval.name)} of {approval.agent_key}: {told}",
            messages.SUCCESS,
        )
        return HttpResponseRedirect(self.list_address())

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
        is_open = pages.is_open(approval)
        name = request.user.get_username()
        offers = decides and is_open and opened is not None and not opened.why
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Request {approval.id}",
            "approval": approval,
            "state": pages.state_of(approval),
            "expiry": pages.expiry_of(approval),
            "outcome": pages.outcome_of(approval),
            "waited": pages.waited(approval),
            "is_open": is_open,
            "is_pending": approval.status == ApprovalStatus.PENDING,
            "refused": refused,
            "with_words": with_words,
            "decides": decides,
            "cannot_open": opened.why if opened else "",
            "args": pages.shown_arguments(opened.args, page_asked(request, "lines"))
            if opened and opened.args is not None
            else None,
            "reason": pages.reason_of(approval),
            "affected": affected_by(approval),
            "ceiling": pages.ceiling_of(approval),
            "others": others,
            "is_more_of_others": is_more,
            "history": pages.history_of(approval),
            "offers": offers,
            "is_own": pages.asked_for_by(approval, name),
            "forms": {**self.fresh_forms(approval), **(forms or {})} if offers else {},
            "links": self.links_of(request, approval),
            **self.around(request, approval),
        }
        return TemplateResponse(
            request, "admin/approvals/approval/page.html", context, status=status
        )

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

    def fresh_forms(self, approval: Approval) -> dict[str, Any]:
        """Return the two forms, each with the digest of what is shown."""
        digest = {"digest": approval.digest}
        return {it: pages.DecisionForm(initial=digest, auto_id=f"{it}_%s") for it in VERBS}

    def around(self, request: HttpRequest, approval: Approval) -> dict[str, Any]:
        """Return what the page tells of the run; the rooms above know of runs, and this one does not."""
        return {}

    def text_around(self, approval: Approval, asked: str, number: int) -> dict[str, Any] | None:
        """Return a part of a long text of the run; None where there is none of this name."""
        return None

    def links_of(self, request: HttpRequest, approval: Approval) -> dict[str, str]:
        """Return where the page leads, as far as the user may follow."""
        here = {it: reverse(f"admin:approvals_approval_{it}", args=[approval.pk]) for it in VERBS}
        here["list"] = self.list_address()
        if request.user.has_perm("runs.view_run"):
            here["run"] = reverse("admin:runs_run_change", args=[approval.run_id])
        if request.user.has_perm("audit.view_auditrow"):
            here["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?q={approval.run_id}"
        if approval.replaces:
            here["replaces"] = reverse("admin:approvals_approval_change", args=[approval.replaces])
        return here


def may_decide(request: HttpRequest) -> bool:
    """Whether whoever asks may decide."""
    return request.user.has_perm(DECIDE)


def may_read(request: HttpRequest) -> bool:
    """Whether whoever asks may see arguments: to decide about them, or because they may read words."""
    return may_decide(request) or request.user.has_perm(READ_WORDS)


def told_of(error: LiyagentError, now: Approval) -> str:
    """Return what a person is told whose decision was refused; decided meanwhile: by whom, and why."""
    if isinstance(error, AlreadyDecided) and now.decided_by:
        return (
            f"Nothing was changed by you: {cell(now.decided_by)} decided meanwhile. "
            f"It is {now.status}, because: {cell(now.decision_reason)}"
        )
    return f"Nothing was changed: {cell(error.detail or error.title)}"


def page_asked(request: HttpRequest, name: str) -> int:
    """Return the number of a page that is asked for, the first for what is no number."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
