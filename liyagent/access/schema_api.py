"""`/api/schema` and `/api/docs`: what the API is, for programs and for people, without a request to anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.openapi import NEEDS
from liyagent.access.views import GuardedView
from liyagent.core.plain import json_bytes

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Schema(GuardedView):
    """`GET /api/schema`: OpenAPI 3.0 as JSON, the same for every known user."""

    needs = {"GET": ()}

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request) -> HttpResponse:
        """Answer with the schema."""
        return HttpResponse(schema_bytes(), content_type="application/json")


class Docs(GuardedView):
    """`GET /api/docs`: the schema as a page, for a browser with a session."""

    needs = {"GET": ()}

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Answer with the page."""
        page = render(
            request._request,
            "api/docs.html",
            {"groups": groups(), "problem": told_schema({"$ref": "Problem"})},
        )
        page["Content-Security-Policy"] = POLICY
        return page

    def handle_exception(self, exc: Exception) -> Response | HttpResponse:  # type: ignore[override]  # a redirect too
        """Lead a browser without a session to the login."""
        wants_page = "text/html" in self.request.headers.get("Accept", "")
        if isinstance(exc, NotAuthenticated) and wants_page:
            query = urlencode({"next": self.request.path})
            return HttpResponseRedirect(f"{reverse('admin:login')}?{query}")
        return super().handle_exception(exc)


@cache
def schema() -> dict[str, Any]:
    """Return the schema; the same as long as the process lives."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # the package has no types
    found: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # neither
    return found


@cache
def schema_bytes() -> bytes:
    """Return the schema as JSON."""
    return json_bytes(schema())


def groups() -> dict[str, list[dict[str, Any]]]:
    """Return the operations by tag, as the page shows them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, operations in schema()["paths"].items():
        for method, operation in operations.items():
            shown = {
                **operation,
                "method": method.upper(),
                "path": path,
                "id": operation["operationId"],
                "needs": operation.get(NEEDS, []),
                "body": _body(operation),
                "answers": _answers(operation),
            }
            found.setdefault(operation["tags"][0], []).append(shown)
    return found


def told_schema(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a schema in the order of reading: depth, name, type, whether required, description."""
    return list(_fields(node, depth=0, seen=()))


def _body(operation: dict[str, Any]) -> list[dict[str, Any]]:
    content = operation.get("requestBody", {}).get("content", {})
    return told_schema(content.get("application/json", {}).get("schema", {}))


def _answers(operation: dict[str, Any]) -> list[dict[str, Any]]:
    told = []
    for status, answer in sorted(operation["responses"].items()):
        contents: dict[str, Any] = answer.get("content", {})
        kind = next(iter(contents), "")
        is_problem = kind.startswith("application/problem")
        fields = [] if is_problem or not kind else told_schema(contents[kind].get("schema", {}))
        told.append(
            {
                "status": status,
                "kind": kind,
                "description": answer.get("description", ""),
                "fields": fields,
            }
        )
    return told


def _fields(node: dict[str, Any], *, depth: int, seen: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield each property below a node; a schema within itself is named and not gone into again."""
    name, node = _resolved(node)
    if name and name in seen:
        return
    within = (*seen, name) if name else seen
    if node.get("type") == "array":
        yield from _fields(node.get("items", {}), depth=depth, seen=within)
    for field, inner in node.get("properties", {}).items():
        _, shape = _resolved(inner)
        yield {
            "depth": range(depth),
            "name": field,
            "type": _type(inner),
            "is_required": field in node.get("required", ()),
            "description": shape.get("description", ""),
        }
        yield from _fields(inner, depth=depth + 1, seen=within)


def _resolved(node: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    parts = node.get("allOf") or node.get("oneOf") or [node]
    reference = parts[0].get("$ref", "")
    if not reference:
        return "", node
    name = reference.rpartition("/")[2]
    return name, schema()["components"]["schemas"].get(name, {})


def _type(node: dict[str, Any]) -> str:
    _, shape = _resolved(node)
    if "enum" in shape:
        return " | ".join(str(it) for it in shape["enum"])
    if shape.get("type") == "array":
        return f"list of {_type(shape.get('items', {}))}"
    known = shape.get("format") or shape.get("type") or "any JSON"
    return f"{known} or null" if node.get("nullable") else str(known)
