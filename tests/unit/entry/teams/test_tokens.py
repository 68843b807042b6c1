"""Only what the channel vouches for is let in: each part of its token is checked, and nothing is started by another."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest
from django.db import connection

from liyagent.entry.models import Arrival
from liyagent.entry.teams import keys
from liyagent.entry.teams.errors import KeysAway
from liyagent.entry.teams.keys import SigningKeys, forget_keys, signing_keys
from liyagent.entry.teams.models import TeamsBot
from liyagent.entry.teams.rounds import keep_keys
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import never, says


def refused(teams: Teams, token: str, *, status: int = 401) -> str:
    """Send a message with a token that is not let in; return why."""
    answer = teams.post(teams.channel.message("look"), token=token)
    assert answer.status_code == status, answer.content
    assert answer["content-type"] == "application/problem+json"
    assert not Arrival.objects.exists()
    return str(answer.json().get("detail", answer.json()["title"]))


# Claims, of which those of time are seconds from now; and what is told.
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "another audience": ({"aud": "00000000-0000-0000-0000-000000000000"}, "no bot of ours"),
    "two audiences": ({"aud": ["a", "b"]}, "no bot of ours"),
    "another issuer": ({"iss": "https://sts.windows.net/x"}, "issuer"),
    "no issuer": ({"iss": None}, "iss"),
    "expired": ({"exp": -400}, "expired"),
    "never expires": ({"exp": None}, "exp"),
    "an expiry that is no number": ({"exp": float("nan")}, "times are no numbers"),
    "not yet valid": ({"nbf": 900}, "not valid yet"),
    "no service": ({"serviceurl": None}, "no service address"),
    "an unknown key": ({"kid": "third"}, "key that the channel does not have"),
    "another's key under a known name": ({"key": "second", "kid": "first"}, "ignature"),
    "a shared secret": ({"algorithm": "HS256"}, "algorithm is not RS256"),
    "another algorithm": ({"algorithm": "RS512"}, "algorithm is not RS256"),
}


def test_a_token_that_is_wrong_in_any_part_is_refused_and_starts_nothing(teams: Teams) -> None:
    for name, (claims, why) in BAD.items():
        now = int(time.time())
        at = {it: now + claims[it] for it in ("exp", "nbf") if claims.get(it)}
        assert why in refused(teams, teams.channel.token(**claims | at)), name
    for audience in ("\ud800", "\x00", "a" * 9_000, ""):
        assert "no bot of ours" in refused(teams, teams.channel.token(aud=audience))
    assert "no token" in refused(teams, "nonsense")
    unsigned = jwt.encode({"aud": teams.connector.app_id}, "", algorithm="none")
    assert "algorithm" in refused(teams, unsigned)
    assert "too long" in refused(teams, "x" * 20_000)


def test_without_a_token_it_is_401_and_names_the_scheme(teams: Teams) -> None:
    answer = teams.post(teams.channel.message("look"), token="", authorization="Basic x")
    assert answer.status_code == 401
    assert answer["www-authenticate"] == 'Bearer realm="liyagent-teams"'


def test_a_key_of_our_api_is_no_token_of_the_channel(teams: Teams) -> None:
    refused(teams, "liy_000000000000_" + "A" * 43)


def test_a_little_late_is_let_in(teams: Teams) -> None:
    teams.world.model.steps = [says("done")]
    token = teams.channel.token(exp=int(time.time()) - 200)
    assert teams.post(teams.channel.message("look"), token=token).status_code == 200


def test_the_databases_clock_decides_when_a_token_expires(teams: Teams) -> None:
    teams.world.sql(
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql STABLE AS "
        "$$ SELECT now() + interval '2 hours' $$"
    )
    assert "expired" in refused(teams, teams.channel.token())


def test_another_service_address_than_the_tokens_is_refused(teams: Teams) -> None:
    token = teams.channel.token(serviceurl="https://smba.trafficmanager.net/emea/")
    assert "another service address" in refused(teams, token, status=403)
    (row,) = teams.world.audit("teams.refused")
    assert row["why"] == "teams.service_forbidden"


def test_a_service_address_inside_our_network_is_not_called(teams: Teams) -> None:
    inside = "http://169.254.169.254/"
    message = teams.channel.message("look", serviceUrl=inside)
    answer = teams.post(message, token=teams.channel.token(serviceurl=inside))
    assert (answer.status_code, answer.json()["code"]) == (403, "teams.service_forbidden")


def test_a_key_that_vouches_for_another_channel_is_refused(teams: Teams) -> None:
    teams.connector.endorsements = ["webchat"]
    assert "another channel" in refused(teams, teams.channel.token(), status=403)


def test_another_channel_than_teams_is_refused(teams: Teams) -> None:
    teams.connector.endorsements = ["msteams", "webchat"]
    answer = teams.post(teams.channel.message("look", channelId="webchat"))
    assert (answer.status_code, answer.json()["code"]) == (403, "teams.channel_forbidden")


def test_another_tenant_than_the_bots_is_refused(teams: Teams) -> None:
    other = {"id": "c", "tenantId": "11111111-21a8-4c6f-8a1e-2f7de6a2b001"}
    answer = teams.post(teams.channel.message("look", conversation=other))
    assert (answer.status_code, answer.json()["code"]) == (403, "teams.tenant_forbidden")
    answer = teams.post(teams.channel.message("look", conversation={"id": "c"}, channelData={}))
    assert (answer.status_code, answer.json()["code"]) == (403, "teams.tenant_forbidden")
    assert len(teams.world.audit("teams.refused")) == 2
    assert not Arrival.objects.exists()


def test_an_activity_for_another_bot_is_404(teams: Teams) -> None:
    other = {"id": "28:00000000-0000-0000-0000-000000000000"}
    answer = teams.post(teams.channel.message("look", recipient=other))
    assert (answer.status_code, answer.json()["code"]) == (404, "teams.bot_unknown")


def test_a_bot_that_is_switched_off_takes_nothing(teams: Teams) -> None:
    TeamsBot.objects.update(is_enabled=False)
    answer = teams.post(teams.channel.message("look"))
    assert (answer.status_code, answer.json()["code"]) == (403, "teams.bot_disabled")


def test_a_storm_of_unknown_keys_asks_the_channel_once_a_minute(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    teams.world.model.steps = [says("done")]
    assert teams.post(teams.channel.message("look")).status_code == 200
    assert teams.connector.key_fetches == 1

    def storm(number: int) -> int:
        try:
            token = teams.channel.token(kid=f"unknown-{number}")
            return int(teams.post(teams.channel.message("look"), token=token).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(storm, range(12))) == {401}
    assert teams.connector.key_fetches == 1
    teams.connector.keys = ["first", "second"]
    monkeypatch.setattr(keys, "BETWEEN_SECONDS", 0.0)
    token = teams.channel.token(key="second")
    assert teams.post(teams.channel.message("again"), token=token).status_code == 200
    assert teams.connector.key_fetches == 2


def test_many_bad_tokens_from_one_address_are_told_to_wait_and_a_good_one_is_let_in(
    teams: Teams,
) -> None:
    teams.world.model.steps = [says("done")]
    statuses = [
        teams.post(teams.channel.message("look"), token="nonsense").status_code for _ in range(60)
    ]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert teams.post(teams.channel.message("look")).status_code == 200


def test_while_its_keys_cannot_be_read_the_channel_is_told_to_come_again(teams: Teams) -> None:
    TeamsBot.objects.update(metadata_url="http://127.0.0.1:1/none")
    answer = teams.post(teams.channel.message("look"))
    assert (answer.status_code, answer["retry-after"]) == (503, "60")
    assert not Arrival.objects.exists()


def test_keys_that_are_known_serve_while_the_channel_is_away(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SigningKeys(teams.connector.metadata_url)
    assert found.find("first") is not None
    found.metadata_url = "http://127.0.0.1:1/none"
    monkeypatch.setattr(keys, "FRESH_SECONDS", -1.0)
    assert found.find("first") is not None


def test_a_key_too_weak_or_of_another_kind_is_none(teams: Teams) -> None:
    forget_keys()
    told = {"kty": "oct", "kid": "first", "k": "AAAA", "endorsements": ["msteams"]}
    teams.connector.jwks = lambda: {"keys": [told, "x", {"kty": "RSA"}]}  # type: ignore[method-assign]
    with pytest.raises(KeysAway):
        signing_keys(teams.connector.metadata_url).find("first")


def test_keys_are_there_before_the_first_message(teams: Teams) -> None:
    assert keep_keys(never) == keep_keys(never) == 1
    assert teams.connector.key_fetches == 1
    teams.world.model.steps = [says("done")]
    assert teams.post(teams.channel.message("look")).status_code == 200
    assert teams.connector.key_fetches == 1
