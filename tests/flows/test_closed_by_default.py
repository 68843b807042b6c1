"""Who may reach what (ruling 36)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate

from liyagent.access.views import GuardedView
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

OPEN = re.compile(r"/(health/(live|ready)|admin/(login|logout)/|a2a/x/.well-known/agent-card.json)")
SAMPLES = {
    "uuid": "0190a0a0-0000-7000-8000-000000000000",
    "slug": "x",
    "str": "x",
    "path": "x",
    "int": "1",
}
# For scrapers with their token (test_metrics.py); where none is set they are not there.
METRICS = "/metrics"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def addresses(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    """Yield one address for each pattern of the URL configuration."""
    for pattern in resolver.url_patterns:
        text = before + _sample(str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, text)
        elif isinstance(pattern, URLPattern):
            yield text


def _sample(pattern: str) -> str:
    pattern = re.sub(r"\(\?P<\w+>.*\)", "x", pattern)
    pattern = re.sub(r"<(?:(\w+):)?\w+>", lambda it: SAMPLES[it[1] or "str"], pattern)
    return pattern.strip("^$").replace("\\", "")


UNKNOWN = "/api/x"
# What the API is, every known user may read.
FOR_ALL_KNOWN = {UNKNOWN, "/api/schema", "/api/docs"}
# To whom our own keys are no tokens: 401 (test_teams_api.py).
FOR_OTHER_TOKENS = {"/api/messages"}
ADDRESSES = sorted(set(addresses(get_resolver())))


def test_the_walk_finds_the_addresses_there_are() -> None:
    for expected in (
        "/api/agents",
        "/api/agents/x/runs",
        "/api/runs",
        f"/api/runs/{SAMPLES['uuid']}/transcript",
        f"/api/runs/{SAMPLES['uuid']}/stop",
        "/health/ready",
        "/admin/login/",
    ):
        assert expected in ADDRESSES


def test_every_address_but_health_and_login_needs_somebody(fresh_db: FreshDatabase) -> None:
    client = Client(raise_request_exception=False)
    let_in = [
        (method, address, response.status_code)
        for address in ADDRESSES
        for method in METHODS
        if (response := client.generic(method, address)).status_code not in {401, 403}
        and not _leads_to_login(response)
        and not OPEN.fullmatch(address)
    ]
    assert set(let_in) == {(method, METRICS, 404 if method == "GET" else 405) for method in METHODS}


def _leads_to_login(response: Any) -> bool:
    return bool(response.status_code == 302 and response["Location"].startswith("/admin/login/"))


def test_the_api_lets_nobody_in_for_being_known_alone(stranger: Api) -> None:
    closed = {it for it in ADDRESSES if it.startswith("/api/")} - FOR_ALL_KNOWN - FOR_OTHER_TOKENS
    for address in sorted(closed):
        answers = {stranger.get(address).status, stranger.post(address, {}).status}
        assert 403 in answers, address
        assert answers <= {403, 405}, address


def test_a_view_that_names_no_permission_is_for_superusers_alone(fresh_db: FreshDatabase) -> None:
    class Forgotten(GuardedView):
        def get(self, request: Request) -> Response:
            return Response({})

    def status_for(user: User) -> int:
        request = APIRequestFactory().get("/")
        force_authenticate(request, user=user)
        return int(Forgotten.as_view()(request).status_code)

    assert status_for(make_user("olga", "agents.operate", "runs.view_run")) == 403
    assert status_for(User.objects.create_superuser("root")) == 200
    assert status_for(User.objects.create_superuser("gone", is_active=False)) == 403


def test_without_a_key_the_answer_says_what_is_missing(fresh_db: FreshDatabase) -> None:
    answer = Api().get("/api/runs")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="liyagent"'
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.data["code"] == "auth.missing"
    assert answer.data["status"] == 401


@pytest.mark.parametrize("token", ["nonsense", "liy_000000000000_" + "A" * 43, "é", ""])
def test_a_bearer_token_that_is_no_key_is_refused(fresh_db: FreshDatabase, token: str) -> None:
    answer = Api().get("/api/runs", authorization=f"Bearer {token}")
    assert answer.status == 401
    assert answer.data["code"] == "auth.failed"


def test_a_bad_key_is_not_passed_over_for_a_session(fresh_db: FreshDatabase) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    assert client.get("/api/runs").status_code == 200
    assert client.get("/api/runs", headers={"authorization": "Bearer x"}).status_code == 401


def test_a_lacking_permission_is_named(fresh_db: FreshDatabase) -> None:
    answer = api_of(make_user("vera", "runs.view_run")).post("/api/agents/x/runs", {"task": "t"})
    assert answer.status == 403
    assert answer.data["code"] == "permission.denied"
    assert answer.data["detail"] == "This needs the permission agents.operate."


def test_a_session_needs_the_csrf_token_to_change_anything(fresh_db: FreshDatabase) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    refused = client.post("/api/agents/x/runs", {"task": "t"}, content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    client.cookies["csrftoken"] = "x" * 32
    let_in = client.post(
        "/api/agents/x/runs",
        {"task": "t"},
        content_type="application/json",
        headers={"x-csrftoken": "x" * 32},
    )
    assert let_in.status_code == 404
