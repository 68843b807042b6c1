"""Errors as problems."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import RequestFactory
from rest_framework import exceptions

from liyagent.core.api import handle_exception
from liyagent.core.errors import BadSetting, Conflict
from liyagent.core.logs import log_context


def problem(error: Exception) -> tuple[dict[str, Any], dict[str, str]]:
    response = handle_exception(error, {"request": RequestFactory().get("/api/x")})
    assert response.data["status"] == response.status_code
    assert response.content_type == "application/problem+json"
    return dict(response.data), dict(response.items())


def test_our_errors_are_told_with_code_title_detail_and_facts() -> None:
    with log_context(request_id="q-1"):
        told, _ = problem(Conflict("it ended", run_id=7))
    assert told == {
        "type": "urn:liyagent:problem:conflict",
        "title": "The thing is no longer in the state this needs.",
        "status": 409,
        "code": "conflict",
        "detail": "it ended",
        "facts": {"run_id": "7"},
        "instance": "urn:liyagent:request:q-1",
        "request_id": "q-1",
    }


def test_an_error_that_is_our_own_fault_is_logged_and_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told, _ = problem(BadSetting("LIYAGENT_X is 'secret'"))
    assert told["status"] == 500
    assert told["code"] == "unexpected"
    assert "secret" not in str(told)
    assert "LIYAGENT_X" in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "permission.denied"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method.not_allowed"),
        (exceptions.UnsupportedMediaType("text/plain"), 415, "body.media_type"),
        (exceptions.ParseError(), 400, "body.bad"),
        (exceptions.NotAcceptable(), 406, "request.refused"),
        (RuntimeError("boom"), 500, "unexpected"),
    ],
)
def test_every_error_has_a_code(error: Exception, status: int, code: str) -> None:
    told, _ = problem(error)
    assert (told["status"], told["code"]) == (status, code)
    assert told["title"]
    assert "boom" not in str(told)


def test_a_throttle_says_when_to_ask_again() -> None:
    told, headers = problem(exceptions.Throttled(wait=1.2))
    assert (told["status"], told["code"]) == (429, "throttled")
    assert headers["Retry-After"] == "2"


def test_each_wrong_field_is_named_by_its_path() -> None:
    detail: Any = {"a": ["no"], "b": [{}, {"c": ["bad"]}], "non_field_errors": ["all"]}
    told, _ = problem(exceptions.ValidationError(detail))
    assert told["errors"] == [
        {"field": "a", "detail": "no"},
        {"field": "b.1.c", "detail": "bad"},
        {"field": "body", "detail": "all"},
    ]
    assert told["detail"] == "a: no; b.1.c: bad; body: all"
