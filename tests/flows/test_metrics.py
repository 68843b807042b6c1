"""Who is told the metrics."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.databases import FreshDatabase
from tests.flows.conftest import Api, make_user

TOKEN = "a-scraper-has-this-one-0123456789"
REMOTE = "192.0.2.7"


def ask(
    monkeypatch: pytest.MonkeyPatch, *, token: str = "", debug: bool = False, **meta: Any
) -> int:
    """The status that a scraper gets."""
    conf = dataclasses.replace(settings.LIYAGENT, metrics_token=token, debug=debug)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    return Client(raise_request_exception=False).get("/metrics", **meta).status_code


def test_with_its_token_a_scraper_is_told_and_nobody_else_is(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    good: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}
    assert ask(monkeypatch, token=TOKEN, REMOTE_ADDR=REMOTE, **good) == 200
    for bad in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"):
        assert ask(monkeypatch, token=TOKEN, HTTP_AUTHORIZATION=bad) == 401
    assert ask(monkeypatch, token=TOKEN, debug=True) == 401


def test_a_refused_scraper_is_told_which_token_it_needs(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, token=TOKEN)
    response = Client().get("/metrics")
    assert response["WWW-Authenticate"] == "Bearer"
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "auth.failed"


def test_without_a_token_there_are_no_metrics_but_for_this_machine_in_debug(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(monkeypatch) == 404
    assert ask(monkeypatch, HTTP_AUTHORIZATION="Bearer ") == 404
    assert ask(monkeypatch, debug=True) == 200
    assert ask(monkeypatch, debug=True, REMOTE_ADDR="::1") == 200
    assert ask(monkeypatch, debug=True, REMOTE_ADDR=REMOTE) == 404
    assert ask(monkeypatch, debug=True, HTTP_X_FORWARDED_FOR=REMOTE) == 404


def test_nobody_is_told_for_being_a_user(fresh_db: FreshDatabase, operator: Api) -> None:
    make_user("anna")
    assert operator.get("/metrics").status == 404


def test_a_scraper_by_http_is_not_sent_to_https(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "SECURE_SSL_REDIRECT", True)
    assert ask(monkeypatch, token=TOKEN, HTTP_AUTHORIZATION=f"Bearer {TOKEN}") == 200


def test_metrics_are_asked_for_and_not_sent(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, token=TOKEN)
    assert Client().post("/metrics").status_code == 405
