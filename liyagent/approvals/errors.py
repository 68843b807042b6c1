"""What can go wrong with a decision, each with its code."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import LiyagentError


class ApprovalNotFound(LiyagentError):
    """There is no request with this id."""

    code = "approval.not_found"
    http_status = HTTPStatus.NOT_FOUND


class AlreadyDecided(LiyagentError):
    """This request was decided before, or is open no more."""

    code = "approval.already_decided"
    http_status = HTTPStatus.CONFLICT


class ApprovalExpired(LiyagentError):
    """The time for this request has passed; the agent has to ask anew."""

    code = "approval.expired"
    http_status = HTTPStatus.CONFLICT


class OtherDigest(LiyagentError):
    """The digest is not that of this request: read it again, and decide about what it shows."""

    code = "approval.other_digest"
    http_status = HTTPStatus.CONFLICT


class OwnRequest(LiyagentError):
    """Nobody decides about what was asked on their own behalf."""

    code = "approval.own_request"
    http_status = HTTPStatus.FORBIDDEN
