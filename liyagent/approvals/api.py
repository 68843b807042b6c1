"""`/api/approvals`: what waits for a person, all that it is about, and the decision."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import DECIDE, VIEW_APPROVAL, holds, may_read_words
from liyagent.access.views import GuardedView
from liyagent.approvals.authority import policies_now
from liyagent.approvals.decide import decide, withdraw
from liyagent.approvals.listing import list_approvals
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.serializers import (
    ApprovalFactsSerializer,
    ApprovalPageSerializer,
    ApprovalSerializer,
    ApprovalToldSerializer,
    DecidedSerializer,
    DecisionInput,
    WithdrawInput,
)
from liyagent.approvals.told import replaced_by, told_of
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, next_link

LIST_PARAMETERS = [
    OpenApiParameter("status", str, enum=ApprovalStatus.values),
    *(OpenApiParameter(name, str) for name in ("agent", "mission", "kind")),
    OpenApiParameter("run", UUID, description="The run that asked for it."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class ApprovalList(GuardedView):
    """`GET /api/approvals`: with `status=pending` the oldest first, else the newest.

    `next` leads on, with the same filters, until it is null. A page can be short, or empty, and yet lead on: for
    filters without an index of their own at most 10,000 requests are looked through for one page.
    """

    needs = {"GET": (VIEW_APPROVAL,)}

    @extend_schema(parameters=LIST_PARAMETERS, responses=ApprovalPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of requests."""
        asked = once_each(request.query_params)
        page = list_approvals(asked)
        return Response(
            {
                "approvals": ApprovalSerializer(
                    page.approvals, many=True, context={"policies_now": policies_now()}
                ).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class ApprovalOne(GuardedView):
    """`GET /api/approvals/{id}`: all that a decision is about; the arguments to who may read words, or decide.

    Those who are shown the arguments are told 409 where these cannot be opened (`seal.key_missing`, `seal.broken`) or
    are not what was filed (`approval.not_as_filed`). Such a request cannot be decided; it can be withdrawn.
    """

    needs = {"GET": (VIEW_APPROVAL,)}

    @extend_schema(responses=ApprovalToldSerializer)
    def get(self, request: Request, approval_id: UUID) -> Response:
        """Show a request."""
        with_words = may_read_words(request) or holds(request, DECIDE)
        told = told_of(approval_id, with_words=with_words)
        facts = ApprovalFactsSerializer(told.pop("approval")).data
        return Response({**facts, **told})


class ApprovalApprove(GuardedView):
    """`POST /api/approvals/{id}/approve`: of what `digest` was shown of. Whoever comes first decides.

    The very same decision again, by the same person for the same reason, is 200 with the request as it stands now, and
    changes nothing: `status` may have gone on to `consumed`, or to `stale` with `settled_reason` and `replaced_by`.
    Refused under a code of its own: `approval.not_found`, `approval.already_decided`, `approval.expired`,
    `approval.run_ended`, `approval.other_digest`, `approval.own_request`, `approval.bad_reason`.
    """

    needs = {"POST": (DECIDE,)}

    @extend_schema(request=DecisionInput, responses=DecidedSerializer)
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Approve a request."""
        return _decided(request, approval_id, ApprovalStatus.APPROVED)


class ApprovalReject(GuardedView):
    """`POST /api/approvals/{id}/reject`: the agent is told who and why. Refused and repeated as to approve."""

    needs = {"POST": (DECIDE,)}

    @extend_schema(request=DecisionInput, responses=DecidedSerializer)
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Reject a request."""
        return _decided(request, approval_id, ApprovalStatus.REJECTED)


class ApprovalWithdraw(GuardedView):
    """`POST /api/approvals/{id}/withdraw`: by who asked for it, or who holds `approvals.decide`; else 403."""

    needs = {"POST": (VIEW_APPROVAL,)}

    @extend_schema(request=WithdrawInput, responses=DecidedSerializer)
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Take a request back."""
        given = WithdrawInput(data=request.data)
        given.is_valid(raise_exception=True)
        settled = withdraw(
            approval_id=approval_id,
            actor=request.user.get_username(),
            reason=given.validated_data["reason"],
            may_decide=holds(request, DECIDE),
        )
        return _as_it_stands(settled)


def _decided(request: Request, approval_id: UUID, status: ApprovalStatus) -> Response:
    given = DecisionInput(data=request.data)
    given.is_valid(raise_exception=True)
    settled = decide(
        approval_id=approval_id,
        status=status,
        actor=request.user.get_username(),
        reason=given.validated_data["reason"],
        digest=given.validated_data["digest"],
    )
    return _as_it_stands(settled)


def _as_it_stands(settled: Approval) -> Response:
    facts = ApprovalFactsSerializer(settled).data
    return Response({**facts, "replaced_by": replaced_by(settled)})
