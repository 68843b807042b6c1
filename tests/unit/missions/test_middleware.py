"""The ids of a request."""

from __future__ import annotations

import re
import uuid

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from liyagent.core.logs import current_ids
from missions.context import NO_STAMP, Stamp, current_stamp
from missions.middleware import MissionMiddleware

OURS = re.compile(r"[0-9a-f-]{36}")


def answer(**headers: str) -> tuple[HttpResponse, Stamp, object]:
    """Send a request with `headers` through the middleware; return what was seen inside."""
    seen: list[Stamp] = []
    logged: list[object] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(current_stamp())
        logged.append(current_ids().get("request_id"))
        return HttpResponse()

    request = RequestFactory().get("/", headers=headers)
    return MissionMiddleware(view)(request), seen[0], logged[0]


@pytest.mark.promise("MI-01")
def test_a_named_mission_is_in_force_within_the_request_and_on_the_answer() -> None:
    response, stamp, logged = answer(x_liyagent_mission="INC-77", x_request_id="req-1")
    assert stamp == Stamp(request_id="req-1", mission="INC-77", address="127.0.0.1")
    assert logged == "req-1"
    assert response["X-Liyagent-Mission"] == "INC-77"
    assert response["X-Request-ID"] == "req-1"
    assert current_stamp() == NO_STAMP
    assert "request_id" not in current_ids()


@pytest.mark.field("FL-98")
@pytest.mark.parametrize("value", ["INC-1\n", "INC-1\r\nX-Evil: 1", " INC-1", "-INC", "", "A,B"])
def test_a_value_that_does_not_fit_reaches_neither_the_work_nor_the_answer(value: str) -> None:
    response, stamp, _ = answer(x_liyagent_mission=value, x_request_id=value)
    assert stamp.mission == ""
    assert OURS.fullmatch(stamp.request_id)
    assert "X-Liyagent-Mission" not in response
    assert response["X-Request-ID"] == stamp.request_id


def test_a_request_that_names_none_gets_an_id_of_its_own() -> None:
    first, second = answer()[1], answer()[1]
    assert uuid.UUID(first.request_id) != uuid.UUID(second.request_id)
    assert first.mission == ""
