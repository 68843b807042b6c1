"""How views become operations of `/api/schema`: names, summaries, permissions and errors, told in one place."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from liyagent.core.problems import PROBLEM

NEEDS = "x-needs"
STREAMS = frozenset({"text/event-stream", "application/x-ndjson"})
UNSAFE = frozenset({"post", "put", "patch", "delete"})
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "A problem (RFC 9457). `code` names it for programs, `errors` tells it field by field.",
    "properties": {
        "type": {"type": "string", "description": "urn:liyagent:problem:<code>"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "instance": {"type": "string", "description": "urn:liyagent:request:<request id>"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["field", "detail"],
            },
        },
        "facts": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["type", "title", "status", "code"],
}
HEALTH = {
    "live": ("Say whether the process serves.", (HTTPStatus.OK,)),
    "ready": (
        "Say whether the process should be sent work, and what is missing.",
        (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE),
    ),
}
TITLES = {
    HTTPStatus.BAD_REQUEST: "What was given cannot be used; `errors` names the fields.",
    HTTPStatus.UNAUTHORIZED: "No key or session, or one that is not accepted.",
    HTTPStatus.FORBIDDEN: "A permission is missing; `detail` names it.",
    HTTPStatus.NOT_FOUND: "No such thing, or not for you.",
    HTTPStatus.METHOD_NOT_ALLOWED: "The address does not know the method.",
    HTTPStatus.CONFLICT: "The thing is no longer in the state this needs.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not application/json.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many bad keys from this address; `Retry-After` says when to ask again.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong here; the log names the request id.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not now; `Retry-After` says when to ask again.",
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the package has no types
    """A bearer key (`manage.py apikeys create`)."""

    target_class = "liyagent.access.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "liy_<prefix>_<secret>"}


class GuardedSchema(AutoSchema):
    """An operation named by its view, summed up by its method's docstring, with the permissions it needs."""

    def get_operation_id(self) -> str:
        """Return `<method>_<view>`, for example `get_run_list`."""
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]+", type(self.view).__name__)
        return "_".join([self.method.lower(), *(word.lower() for word in words)])

    def get_summary(self) -> str:
        """Return the first line of the method's docstring."""
        return _lines(getattr(self.view, self.method.lower()))[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as the package itself has it
        """Return the view's docstring, and which permissions the operation needs."""
        needed = self._needed()
        told = ", ".join(f"`{name}`" for name in needed) or "a known user, no further permission"
        about = "\n".join(_lines(type(self.view))).strip()
        return f"{about}\n\nNeeds: {told}."

    def get_extensions(self) -> dict[str, Any]:
        """Return the permissions for programs to read."""
        return {NEEDS: list(self._needed())}

    def get_tags(self) -> list[str]:
        """Return the first part of the path behind /api/."""
        return [self.path.removeprefix("/api/").partition("/")[0]]

    def _needed(self) -> tuple[str, ...]:
        needs = getattr(self.view, "needs", {})
        return tuple(needs.get(self.method, ("superuser",)))


def document_errors(result: dict[str, Any], **_more: Any) -> dict[str, Any]:
    """Add health, and to each operation the problems that it can answer with."""
    result["components"].setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for name, (summary, statuses) in HEALTH.items():
        result["paths"][f"/health/{name}"] = {"get": _health(name, summary, statuses)}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for status in _statuses(path, method, operation):
                operation["responses"].setdefault(str(int(status)), problem(status))
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return result


def problem(status: HTTPStatus, description: str = "") -> dict[str, Any]:
    """Return the response object of a problem."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": description or TITLES[status],
        "content": {PROBLEM: {"schema": schema}},
    }


def _statuses(path: str, method: str, operation: dict[str, Any]) -> list[HTTPStatus]:
    if path.startswith("/health/"):
        return [HTTPStatus.BAD_REQUEST]
    found = [
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    ]
    # What is not there may be named in the path, or in the body.
    if "{" in path or method in UNSAFE:
        found.append(HTTPStatus.NOT_FOUND)
    if STREAMS & operation["responses"].get("200", {}).get("content", {}).keys():
        found.append(HTTPStatus.SERVICE_UNAVAILABLE)
    if method in UNSAFE:
        found += [
            HTTPStatus.CONFLICT,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        ]
    return found


def _health(name: str, summary: str, statuses: tuple[HTTPStatus, ...]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "status": {"type": "string"},
            "missing": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["status"],
    }
    answer = {"description": summary, "content": {"application/json": {"schema": schema}}}
    return {
        "operationId": f"get_health_{name}",
        "summary": summary,
        "description": "Open to anybody.",
        "tags": ["health"],
        "security": [{}],
        "responses": {str(int(status)): answer for status in statuses},
    }


def _lines(documented: Any) -> list[str]:
    text = re.sub(r"\s+Raises [^\n]*", "", (documented.__doc__ or documented.__name__).strip())
    return [line.strip() for line in text.splitlines()]
