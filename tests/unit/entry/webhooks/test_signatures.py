"""Who is let in: by Standard Webhooks or an HMAC, with any secret of several, within five minutes; nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from liyagent.entry.models import Arrival
from tests.fakes.signer import hub_headers, new_secret
from tests.unit.entry.webhooks.conftest import ALERT, OLDER_ENV, SECRET_ENV, Hooks
from tests.unit.runs.carrying.conftest import says

BODY = json.dumps(ALERT).encode()


@pytest.fixture(autouse=True)
def answers(hooks: Hooks) -> None:
    """Whatever is let in is answered."""
    hooks.world.model.steps = [says("done")]


def test_any_secret_of_the_trigger_and_any_signature_of_several_lets_in(hooks: Hooks) -> None:
    assert hooks.post(secrets=[hooks.older]).status_code == 202
    assert hooks.post(secrets=[new_secret(), hooks.secret]).status_code == 202
    assert hooks.post(secrets=[new_secret()]).status_code == 401


def test_a_secret_that_is_replaced_is_let_go_with_its_variable(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OLDER_ENV)
    assert hooks.post(secrets=[hooks.older]).status_code == 401
    assert hooks.post().status_code == 202


@pytest.mark.parametrize("value", [None, "whsec_c2hvcnQ=", "no secret at all"])
def test_while_no_secret_can_be_had_the_sender_is_told_to_come_again(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    for name in (SECRET_ENV, OLDER_ENV):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    refused = hooks.post()
    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "60"
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook-signature": ""},
        {"webhook-id": ""},
        {"webhook-timestamp": ""},
        {"webhook-id": "msg_other"},
        {"webhook-id": "é"},
        {"webhook-id": "x" * 256},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "٣"},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v2,abc"},
        {"webhook-signature": "v1,é v1,\x7f"},
        {"webhook-signature": "v1,x " * 5_000},
    ],
)
def test_what_is_not_signed_as_it_should_be_is_refused(
    hooks: Hooks, headers: dict[str, str]
) -> None:
    refused = hooks.post(headers=headers)
    assert refused.status_code == 401, refused.content
    assert refused.headers["WWW-Authenticate"]
    missing = hooks.post(headers=headers, key="nobody")
    assert (missing.status_code, missing.json()["detail"]) == (401, refused.json()["detail"])
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(("age", "status"), [(290, 202), (-290, 202), (320, 401), (-320, 401)])
def test_a_call_counts_for_five_minutes_by_the_databases_clock(
    hooks: Hooks, age: float, status: int
) -> None:
    assert hooks.post(age=age).status_code == status


def test_a_time_is_compared_with_the_databases_clock_alone(hooks: Hooks) -> None:
    hooks.world.sql(
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE "
        "AS $$ SELECT clock_timestamp() - interval '5 hours' $$"
    )
    assert hooks.post().status_code == 401
    assert hooks.post(age=5 * 3600).status_code == 202


def test_a_body_that_was_changed_is_refused(hooks: Hooks) -> None:
    answer = hooks.post()
    sent = answer.wsgi_request
    named = ("webhook-id", "webhook-timestamp", "webhook-signature")
    signed = {name: sent.headers[name] for name in named}
    assert hooks.raw(BODY + b" ", **signed).status_code == 401
    assert hooks.raw(BODY, **signed).json() == answer.json()


def test_a_trigger_that_is_not_there_is_not_told_apart(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = hooks.post(secrets=[new_secret()])
    missing = hooks.post(key="nobody")
    by_hmac(hooks, monkeypatch)
    other = hooks.raw(BODY)
    told = [(it.status_code, it.json()["detail"]) for it in (there, missing, other)]
    assert told == [told[0]] * 3
    assert "no such trigger" in told[0][1]


def test_a_stale_time_that_was_signed_is_told(hooks: Hooks) -> None:
    assert "more than 300 s away" in hooks.post(age=400).json()["detail"]


def test_too_many_bad_ones_from_an_address_are_told_to_wait_and_good_ones_are_not(
    hooks: Hooks,
) -> None:
    bad = [hooks.post(secrets=[new_secret()]) for _ in range(51)]
    assert [it.status_code for it in bad[:50]] == [401] * 50
    assert bad[50].status_code == 429
    assert int(bad[50].headers["Retry-After"]) > 0
    assert hooks.post().status_code == 202


def by_hmac(hooks: Hooks, monkeypatch: pytest.MonkeyPatch, **more: Any) -> str:
    """Let the trigger's calls be signed by an HMAC; return the secret."""
    secret = "a secret of some length"
    monkeypatch.setenv(SECRET_ENV, secret)
    hooks.save(scheme="hmac", delivery_id="{{ host }}@{{ at }}", sample=ALERT, **more)
    return secret


def test_an_hmac_of_the_body_in_a_header_lets_in_and_is_one_delivery_by_what_is_signed(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = by_hmac(hooks, monkeypatch)
    signed = hub_headers(BODY, secret=secret)
    first = hooks.raw(BODY, **signed)
    assert first.status_code == 202
    replayed = hooks.raw(BODY, **signed, **{"X-GitHub-Delivery": "of another id"})
    assert replayed.json() == first.json()
    assert Arrival.objects.get().delivery_id == "db-1@2026-11-30T03:00:00Z"


def test_header_and_prefix_are_the_triggers(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = by_hmac(hooks, monkeypatch, signature_header="X-Signature", signature_prefix="")
    assert hooks.raw(BODY, **hub_headers(BODY, secret=secret)).status_code == 401
    signed = hub_headers(BODY, secret=secret, header="x-signature", prefix="")
    assert hooks.raw(BODY, **signed).status_code == 202


@pytest.mark.parametrize("given", ["", "sha256=", "sha256=é", "sha1=x", "x" * 64])
def test_what_no_secret_made_is_refused(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    by_hmac(hooks, monkeypatch)
    assert hooks.raw(BODY, **{"X-Hub-Signature-256": given}).status_code == 401
    wrong = hub_headers(BODY, secret="another of the same length")
    assert hooks.raw(BODY, **wrong).status_code == 401
    without_prefix = hub_headers(BODY, secret="a secret of some length", prefix="")
    assert hooks.raw(BODY, **without_prefix).status_code == 401
    assert not Arrival.objects.exists()


def test_a_call_that_speaks_standard_webhooks_is_none_to_a_trigger_of_hmac(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hmac(hooks, monkeypatch)
    assert hooks.post(secrets=[hooks.older]).status_code == 401
