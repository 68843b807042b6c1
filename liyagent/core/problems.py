"""The shape of a problem (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse

from liyagent.core.errors import LiyagentError
from liyagent.core.logs import current_ids
from liyagent.core.plain import json_bytes

PROBLEM = "application/problem+json"


class BodyTooLarge(LiyagentError):
    """The body is too large."""

    code = "body.too_large"
    http_status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def problem_of(
    *, status: int, code: str, title: str, detail: str = "", **more: object
) -> dict[str, Any]:
    """Return the members of a problem: RFC 9457's, our `code`, the request id, and what else is known."""
    members: dict[str, Any] = {
        "type": f"urn:liyagent:problem:{code}",
        "title": title,
        "status": int(status),
        "code": code,
    }
    if detail and detail != title:
        members["detail"] = detail
    members |= {name: value for name, value in more.items() if value}
    request_id = current_ids().get("request_id")
    if request_id:
        members |= {
            "instance": f"urn:liyagent:request:{request_id}",
            "request_id": str(request_id),
        }
    return members


def problem_response(**members: Any) -> HttpResponse:
    """Return a problem without DRF; takes what `problem_of` takes."""
    problem = problem_of(**members)
    return HttpResponse(json_bytes(problem), status=problem["status"], content_type=PROBLEM)
