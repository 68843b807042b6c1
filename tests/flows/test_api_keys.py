"""API keys over HTTP, and what their scopes leave of what their user may do (ruling 36)."""

from __future__ import annotations

import ast
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from liyagent.access.keys import create_key
from liyagent.access.models import ApiKey, Attempt
from liyagent.agents.models import Agent
from tests.databases import FreshDatabase
from tests.flows.conftest import READER, Api, api_of, make_user

ROOT = Path(__file__).resolve().parents[2]
OWN_KEYS = "access.keep_own_keys"


def key_with(user: Any, *scopes: Any) -> Api:
    """A client with a key of `user` of these scopes."""
    token = create_key(name="narrow", username=user.username, scopes=scopes).token
    return Api(token=token)


def test_a_key_may_what_its_scopes_and_its_user_both_may(agent: Agent) -> None:
    rita = make_user("rita", *READER)
    sees = key_with(rita, "runs.view_run")
    assert sees.get("/api/runs").status == 200
    refused = sees.post("/api/agents/triage/runs", {"task": "t"})
    assert refused.status == 403
    assert "agents.operate, which the scopes of this key leave out" in refused.data["detail"]
    rita.user_permissions.clear()
    assert sees.get("/api/runs").status == 403


def test_words_are_kept_from_a_key_whose_scopes_leave_them_out(agent: Agent) -> None:
    rita = make_user("rita", *READER)
    run_id = api_of(rita).post("/api/agents/triage/runs", {"task": "t"}).data["id"]
    without = key_with(rita, "runs.view_run")
    assert "answer" not in without.get(f"/api/runs/{run_id}").data
    assert without.get(f"/api/runs/{run_id}/transcript").status == 403
    reads = key_with(rita, "runs.view_run", "transcripts.content.read")
    assert "answer" in reads.get(f"/api/runs/{run_id}").data


def test_a_narrow_key_of_a_superuser_is_narrow(fresh_db: FreshDatabase) -> None:
    root = make_user("root")
    root.is_superuser = True
    root.save(update_fields=["is_superuser"])
    narrow = key_with(root, "agents.view_agent")
    assert narrow.get("/api/agents").status == 200
    assert narrow.get("/api/runs").status == 403
    assert key_with(root, "*").get("/api/runs").status == 200


@pytest.mark.parametrize("scopes", [[], {}, "*", None, ["nonsense"]])
def test_scopes_that_were_edited_into_nonsense_let_nothing_through(
    fresh_db: FreshDatabase, scopes: Any
) -> None:
    api = api_of(make_user("rita", *READER))
    ApiKey.objects.update(scopes=scopes if scopes is not None else 0)
    assert api.get("/api/runs").status == 403


def test_a_key_made_with_a_key_does_not_outlive_it(fresh_db: FreshDatabase) -> None:
    olga = make_user("olga", OWN_KEYS)
    asking = create_key(name="short", username="olga", days=7)
    api = Api(token=asking.token)
    assert asking.key.expires_at is not None
    made = api.post("/api/api-keys", {"name": "child", "scopes": [OWN_KEYS]})
    assert datetime.fromisoformat(made.data["expires_at"]) == asking.key.expires_at
    shorter = api.post("/api/api-keys", {"name": "brief", "scopes": [OWN_KEYS], "days": 6})
    assert datetime.fromisoformat(shorter.data["expires_at"]) < asking.key.expires_at
    refused = api.post("/api/api-keys", {"name": "long", "scopes": [OWN_KEYS], "days": 8})
    assert refused.status == 403
    assert "may not outlive it" in refused.data["detail"]
    assert olga.api_keys.count() == 3


def test_a_key_is_made_seen_once_listed_and_revoked(fresh_db: FreshDatabase) -> None:
    api = api_of(make_user("olga", OWN_KEYS, "runs.view_run"))
    made = api.post("/api/api-keys", {"name": "ci", "scopes": ["runs.view_run"], "days": 30})
    assert made.status == 201
    assert made.data["created_by"] == "olga"
    assert Api(token=made.data["token"]).get("/api/runs").status == 200
    listed = api.get("/api/api-keys").data
    assert [key["name"] for key in listed["keys"]] == ["ci", "test"]
    assert listed["next"] is None
    assert made.data["token"].rpartition("_")[2] not in str(listed)
    assert "secret_hash" not in str(listed)
    prefix = made.data["prefix"]
    assert api.post(f"/api/api-keys/{prefix}/revoke", {}).data["revoked_at"]
    assert Api(token=made.data["token"]).get("/api/runs").status == 401
    assert api.post(f"/api/api-keys/{prefix}/revoke", {}).status == 404


def test_the_keys_of_others_are_neither_seen_nor_revoked(fresh_db: FreshDatabase) -> None:
    api_of(make_user("olga", OWN_KEYS))
    theirs = ApiKey.objects.get().prefix
    stan = api_of(make_user("stan", OWN_KEYS))
    assert [key["prefix"] for key in stan.get("/api/api-keys").data["keys"]] != [theirs]
    assert stan.post(f"/api/api-keys/{theirs}/revoke", {}).status == 404
    keeper = api_of(make_user("kim", OWN_KEYS, "access.change_apikey"))
    assert keeper.post(f"/api/api-keys/{theirs}/revoke", {}).status == 200


def test_no_key_can_make_one_that_may_more_than_itself(fresh_db: FreshDatabase) -> None:
    olga = make_user("olga", OWN_KEYS, "runs.view_run", "agents.operate")
    narrow = key_with(olga, OWN_KEYS, "runs.view_run")
    for scopes in (["*"], ["agents.operate"], ["runs.view_run", "agents.operate"]):
        refused = narrow.post("/api/api-keys", {"name": "more", "scopes": scopes})
        assert refused.status == 403, scopes
    assert narrow.post("/api/api-keys", {"name": "more"}).status == 403
    assert narrow.post("/api/api-keys", {"name": "less", "scopes": ["runs.view_run"]}).status == 201
    # Nor one that may more than its user.
    words = {"name": "words", "scopes": ["transcripts.content.read"]}
    assert api_of(olga).post("/api/api-keys", words).status == 403


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": "runs.view_run"}, "scopes"),
        ({"name": "x", "scopes": ["runs.see_run"]}, "runs.view_run"),
        ({"name": "x", "scopes": [1]}, "scopes"),
        ({"name": "x", "days": 0}, "days"),
        ({"name": "x", "days": 3651}, "days"),
        ({"name": "x", "scope": ["*"]}, "scope"),
        ([], "body"),
    ],
)
def test_a_body_that_cannot_be_used_is_refused(
    fresh_db: FreshDatabase, body: Any, says: str
) -> None:
    answer = api_of(make_user("olga", OWN_KEYS)).post("/api/api-keys", body)
    assert answer.status == 400, answer.data
    assert says in str(answer.data)
    assert ApiKey.objects.count() == 1


def test_pages_lead_through_all_keys(fresh_db: FreshDatabase) -> None:
    api = api_of(make_user("olga", OWN_KEYS))
    for number in range(4):
        create_key(name=f"k{number}", username="olga")
    names, path = [], "/api/api-keys?limit=2"
    while path:
        page = api.get(path).data
        names += [key["name"] for key in page["keys"]]
        path = page["next"]
    assert names == ["k3", "k2", "k1", "k0", "test"]
    for wrong in ("limit=0", "limit=x", "cursor=nonsense", "x=1", "limit=1&limit=2"):
        assert api.get(f"/api/api-keys?{wrong}").status == 400, wrong


def test_a_user_keeps_a_hundred_keys_and_no_more(fresh_db: FreshDatabase) -> None:
    olga = make_user("olga", OWN_KEYS)
    api = api_of(olga)
    ApiKey.objects.bulk_create(
        ApiKey(name="k", prefix=f"{number:012x}", secret_hash="0" * 64, user=olga)
        for number in range(99)
    )
    assert api.post("/api/api-keys", {"name": "one more"}).status == 409
    api.post(f"/api/api-keys/{1:012x}/revoke", {})
    assert api.post("/api/api-keys", {"name": "one more"}).status == 201


def test_bad_keys_from_one_address_are_told_to_wait_and_good_ones_let_in(
    fresh_db: FreshDatabase,
) -> None:
    good = api_of(make_user("olga", "runs.view_run"))
    bad = Api(token="liy_000000000000_" + "A" * 43)
    assert {bad.get("/api/runs").status for _ in range(50)} == {401}
    refused = bad.get("/api/runs")
    assert refused.status == 429
    assert refused.data["code"] == "throttled"
    assert 0 < int(refused.headers["Retry-After"]) <= 900
    assert Attempt.objects.get().count == 50
    assert good.get("/api/runs").status == 200


def test_only_the_guard_asks_what_a_user_may_in_the_api() -> None:
    """Whoever asks the user alone forgets the scopes of the key: `holds` asks both."""
    asking = {
        path.relative_to(ROOT).as_posix()
        for room in ("liyagent", "runs", "events", "missions")
        for path in (ROOT / room).rglob("*.py")
        if "rest_framework" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"has_perm", "has_perms", "has_module_perms", "is_superuser", "is_staff"}
    }
    assert asking == {"liyagent/access/permissions.py"}
