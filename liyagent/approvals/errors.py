"""What can go wrong with a decision, each with its code."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from liyagent.core.errors import BadInput, LiyagentError


class ApprovalNotFound(LiyagentError):
    """There is no request with this id."""

    code = "approval.not_found"
    http_status = HTTPStatus.NOT_FOUND

    def __init__(self, approval_id: UUID) -> None:
        """Name it, and where those that wait are listed."""
        super().__init__(
            f"there is no request {approval_id}; `GET /api/approvals?status=pending` and "
            "`manage.py approvals list` list what waits"
        )


class AlreadyDecided(LiyagentError):
    """This request was decided before, or is open no more."""

    code = "approval.already_decided"
    http_status = HTTPStatus.CONFLICT


class ApprovalExpired(LiyagentError):
    """The time for this request has passed; the agent has to ask anew."""

    code = "approval.expired"
    http_status = HTTPStatus.CONFLICT


class RunIsOver(LiyagentError):
    """The run that waited for this has ended; there is nothing left to decide."""

    code = "approval.run_ended"
    http_status = HTTPStatus.CONFLICT


class OtherDigest(LiyagentError):
    """The digest is not that of this request: read it again, and decide about what it shows."""

    code = "approval.other_digest"
    http_status = HTTPStatus.CONFLICT


class OwnRequest(LiyagentError):
    """Nobody approves what was asked on their own behalf."""

    code = "approval.own_request"
    http_status = HTTPStatus.FORBIDDEN


class NotYours(LiyagentError):
    """Only who asked for it, or who may decide, can withdraw a request."""

    code = "approval.not_yours"
    http_status = HTTPStatus.FORBIDDEN


class BadReason(BadInput):
    """The reason cannot be used."""

    code = "approval.bad_reason"


class NotAsFiled(LiyagentError):
    """What is stored of this request is not what was filed; it cannot be decided."""

    code = "approval.not_as_filed"
    http_status = HTTPStatus.CONFLICT


class KindUnknown(LiyagentError):
    """This process does not know what a decision about this kind of request sets going; ask one that does."""

    code = "approval.kind_unknown"
    http_status = HTTPStatus.CONFLICT
