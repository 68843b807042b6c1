"""The three addresses in the console that a decision is sent to. What is decided is decided by the verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path

from liyagent.access.permissions import DECIDE
from liyagent.approvals.decide import decide, withdraw
from liyagent.approvals.errors import AlreadyDecided
from liyagent.approvals.forms import DecisionForm, WithdrawalForm, errors_of
from liyagent.approvals.inbox import InboxAdmin
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.refusals import decision_of
from liyagent.approvals.saying import asks, saying_of
from liyagent.core.errors import LiyagentError
from liyagent.core.tables import cell

VERBS: Mapping[str, ApprovalStatus] = {
    "approve": ApprovalStatus.APPROVED,
    "reject": ApprovalStatus.REJECTED,
    "withdraw": ApprovalStatus.WITHDRAWN,
}
FORMS: Mapping[str, type[WithdrawalForm]] = {
    "approve": DecisionForm,
    "reject": DecisionForm,
    "withdraw": WithdrawalForm,
}
# What follows, by where the request stands after the decision. The last two: the same decision was sent before.
NOW: Mapping[str, str] = {
    ApprovalStatus.APPROVED: "it is made exactly as shown, unless policies or rights have changed since it was asked for: then it asks anew.",
    ApprovalStatus.REJECTED: "the call is not made, and the agent is told why.",
    ApprovalStatus.WITHDRAWN: "the call is not made, and the agent is told that the request was taken back, and why.",
    ApprovalStatus.CONSUMED: "you had approved it before, and the call was sent. Nothing was changed now.",
    ApprovalStatus.STALE: "you had approved it before, and since then it is stale: the call was not made on it. Nothing was changed now.",
}  # fmt: skip


class DecidingAdmin(InboxAdmin):
    """Decides by POST alone, for whoever may; the page of a request is asked of whoever builds on this."""

    def get_urls(self) -> list[Any]:
        """Add the three addresses of a decision."""
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

    def decided(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Decide about what was shown, by POST alone; what the verb refuses is told on the page."""
        if not self.may_send(request, verb):
            raise PermissionDenied
        approval = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(self.page_address(approval))
        form = FORMS[verb](request.POST, auto_id=f"{verb}_%s")
        if not form.is_valid():
            refused = "; ".join(errors_of(form))
            return self.page(request, approval, forms={verb: form}, refused=refused, status=400)
        try:
            settled = _carried_out(request, approval, verb, form.cleaned_data)
        except LiyagentError as error:
            now = self.row_or_404(request, object_id)
            told = told_of(error, now)
            status = int(error.http_status)
            return self.page(request, now, forms={verb: form}, refused=told, status=status)
        self._tell(request, settled)
        return HttpResponseRedirect(self.list_address())

    def may_send(self, request: HttpRequest, verb: str) -> bool:
        """Whether whoever asks may try: to withdraw, the verb asks besides whether it is theirs."""
        return may_decide(request) or (
            verb == "withdraw" and self.has_view_permission(request, None)
        )

    def page(
        self,
        request: HttpRequest,
        approval: Approval,
        *,
        forms: dict[str, Any] | None = None,
        refused: str = "",
        status: int = 200,
    ) -> HttpResponse:
        """Show a request, with what a decision about it was refused for."""
        raise NotImplementedError

    def fresh_forms(self, approval: Approval) -> dict[str, Any]:
        """Return the three forms, those of a decision with the digest of what is shown."""
        digest = {"digest": approval.digest}
        return {verb: form(initial=digest, auto_id=f"{verb}_%s") for verb, form in FORMS.items()}

    def _tell(self, request: HttpRequest, settled: Approval) -> None:
        decided = str(decision_of(settled) or settled.status).capitalize()
        level = messages.WARNING if settled.status == ApprovalStatus.STALE else messages.SUCCESS
        now = saying_of(settled).now.get(settled.status, NOW[settled.status])
        told = f"{decided} {cell(asks(settled))} of {cell(settled.agent_key)}: {now}"
        self.message_user(request, told, level)


def may_decide(request: HttpRequest) -> bool:
    """Whether whoever asks may decide."""
    return request.user.has_perm(DECIDE)


def may_withdraw(request: HttpRequest, approval: Approval) -> bool:
    """Whether whoever asks may take a request back: who decides, or who asked for it."""
    name = request.user.get_username()
    return may_decide(request) or bool(name and name == approval.requested_by)


def told_of(error: LiyagentError, now: Approval) -> str:
    """Return what a person is told whose decision was refused; decided meanwhile: by whom, and why."""
    if isinstance(error, AlreadyDecided) and now.decided_by:
        return (
            f"{cell(now.decided_by)} decided meanwhile. "
            f"It is {now.status}, because: {cell(now.decision_reason)}"
        )
    return cell(error.detail or error.title)


def _carried_out(
    request: HttpRequest, approval: Approval, verb: str, given: dict[str, str]
) -> Approval:
    actor = request.user.get_username()
    if verb == "withdraw":
        may = may_decide(request)
        return withdraw(approval_id=approval.id, actor=actor, may_decide=may, **given)
    return decide(approval_id=approval.id, status=VERBS[verb], actor=actor, **given)
