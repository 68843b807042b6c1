"""Triggers over the API, in the console and at the shell."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.core.paging import write_cursor
from liyagent.entry.arrive import Arriving, arrive
from liyagent.entry.webhooks.models import Trigger
from tests.flows.conftest import Api, api_of, make_user

TRIGGER = "/api/webhook-triggers/pager"
ALERT = {"host": "db-1", "problem": "disk full"}
GIVEN: dict[str, Any] = {
    "kind": "webhook",
    "agent": "triage",
    "secret_envs": ["PAGER_SECRET"],
    "mapping": {"task": "{{ problem }} on {{ host }}"},
    "sample": ALERT,
}


def arrived(number: int, **facts: Any) -> None:
    arrive(
        Arriving(
            way="webhook",
            source="pager",
            delivery_id=f"delivery-{number}",
            agent_key="triage",
            started_by="olga",
            words={"task": "the secret is plumtree"},
            **facts,
        )
    )


def test_a_trigger_is_kept_shown_tried_switched_and_removed(operator: Api, agent: Agent) -> None:
    made = operator.send("PUT", TRIGGER, GIVEN)
    assert (made.status, made.data["started_by"], made.data["agent"]) == (201, "olga", "triage")
    assert made.data["mapping"] == {"task": "{{ problem }} on {{ host }}", "mission": ""}
    assert "sample" not in made.data
    assert operator.send("PUT", TRIGGER, {"most_a_minute": 9}).status == 200
    assert operator.get(TRIGGER).data["most_a_minute"] == 9
    tried = operator.post(f"{TRIGGER}/try", {"payload": ALERT})
    assert tried.data == {
        "is_wanted": True,
        "delivery_id": "",
        "task": "disk full on db-1",
        "mission": "",
    }
    assert operator.post(f"{TRIGGER}/disable", {}).data["is_enabled"] is False
    assert operator.post(f"{TRIGGER}/enable", {}).data["is_enabled"] is True
    assert [it["key"] for it in operator.get("/api/webhook-triggers").data["triggers"]] == ["pager"]
    assert operator.send("DELETE", TRIGGER).status == 204
    assert operator.get(TRIGGER).data["code"] == "webhooks.trigger_not_found"


def test_what_cannot_be_kept_or_tried_is_a_problem(operator: Api, agent: Agent) -> None:
    refused = operator.send("PUT", TRIGGER, {**GIVEN, "kind": "mail", "agent": "x"})
    assert (refused.status, refused.data["code"]) == (400, "webhooks.trigger_invalid")
    assert {it["field"] for it in refused.data["errors"]} == {"kind", "agent"}
    misfit = operator.send("PUT", TRIGGER, {**GIVEN, "sample": {"node": 1}})
    assert (misfit.status, misfit.data["errors"][0]["field"]) == (422, "mapping.task")
    assert operator.send("PUT", TRIGGER, []).status == 400
    assert operator.send("PUT", TRIGGER, {**GIVEN, "started_by": "rita"}).status == 403
    assert operator.post(f"{TRIGGER}/try", {"payload": ALERT}).status == 404
    assert operator.post(f"{TRIGGER}/try", {}).data["errors"][0]["field"] == "payload"
    assert operator.post(f"{TRIGGER}/try", {"payload": 1, "agent": "x"}).status == 400
    tried = {"mapping": GIVEN["mapping"], "payload": {"host": 1}}
    assert operator.post(f"{TRIGGER}/try", tried).status == 422
    assert not Trigger.objects.exists()


def test_arrivals_are_paged_newest_first_and_bear_no_words(operator: Api, agent: Agent) -> None:
    operator.send("PUT", TRIGGER, GIVEN)
    for number in range(5):
        arrived(number, skipped="the filter does not hold of it" if number == 4 else "")
    found, address = [], f"{TRIGGER}/arrivals?limit=2"
    while address:
        page = operator.get(address).data
        found += page["arrivals"]
        address = page["next"]
    assert [it["delivery_id"] for it in found] == [f"delivery-{it}" for it in (4, 3, 2, 1, 0)]
    assert [it["state"] for it in found[:2]] == ["skipped", "received"]
    assert "plumtree" not in str(found)
    run_id = found[0]["run_id"]
    for at in ("2026-11-30", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
        assert operator.get(f"{TRIGGER}/arrivals?cursor={write_cursor([at, run_id])}").status == 400
    for query in (
        "limit=0",
        "cursor=x",
        "cursor=WyJ4Il0",
        "cursor=WyIyMDI2LTAxLTAxIiwgIngiXQ",
        "other=1",
    ):
        assert operator.get(f"{TRIGGER}/arrivals?{query}").status == 400


def test_who_may_not_operate_keeps_no_trigger(operator: Api, stranger: Api, agent: Agent) -> None:
    operator.send("PUT", TRIGGER, GIVEN)
    viewer = api_of(make_user("vera", "agents.view_agent"))
    assert viewer.get(TRIGGER).status == 200
    assert viewer.get(f"{TRIGGER}/arrivals").status == 403
    for send in (viewer, stranger):
        assert send.send("PUT", TRIGGER, GIVEN).status == 403
        assert send.send("DELETE", TRIGGER).status == 403
        for verb in ("enable", "disable", "try"):
            assert send.post(f"{TRIGGER}/{verb}", {"payload": ALERT}).status == 403
    assert stranger.get("/api/webhook-triggers").status == 403


def test_the_console_saves_tries_and_removes_a_trigger(operator: Api, agent: Agent) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    pages = "/admin/webhooks/trigger"
    form = {
        "key": "pager", "kind": "ticket", "agent_key": "triage", "started_by": "", "most_a_minute": "60",
        "is_enabled": "on", "scheme": "hmac", "secret_envs": "PAGER_SECRET OLDER_SECRET",
        "signature_header": "X-Hub-Signature-256", "signature_prefix": "sha256=", "task": "{{ problem }}",
        "mission": "", "filter": "", "delivery_id": "{{ host }}", "sample": json.dumps(ALERT),
    }  # fmt: skip
    misfit = client.post(f"{pages}/add/", {**form, "sample": '{"x": 1}'}, follow=True)
    assert b"Nothing was saved" in misfit.content
    assert client.post(f"{pages}/add/", form).status_code == 302
    trigger = Trigger.objects.get()
    assert (trigger.started_by, trigger.kind) == ("root", "ticket")
    assert trigger.secret_envs == ["PAGER_SECRET", "OLDER_SECRET"]
    page = f"{pages}/{trigger.pk}"
    assert b"PAGER_SECRET OLDER_SECRET" in client.get(f"{page}/change/").content
    assert client.post(f"{page}/change/", {**form, "most_a_minute": "5", "sample": ""}).status_code == 302  # fmt: skip
    trigger.refresh_from_db()
    assert (trigger.most_a_minute, trigger.key) == (5, "pager")
    tried = client.post(f"{page}/try/", {"payload": json.dumps(ALERT)}, follow=True)
    assert b"Task: disk full" in tried.content
    unfit = client.post(f"{page}/try/", {"payload": "[1]"}, follow=True)
    assert b"It does not fit" in unfit.content
    assert b"Try it" in client.get(f"{page}/try/", follow=True).content
    for listed in (f"{pages}/", "/admin/webhooks/triggerarrival/"):
        assert client.get(listed).status_code == 200
    client.get(f"{page}/remove/", follow=True)
    assert Trigger.objects.exists()
    client.post(f"{page}/remove/", {"confirmed": "yes"}, follow=True)
    assert not Trigger.objects.exists()


def test_the_console_lists_what_was_let_in_of_a_trigger(operator: Api, agent: Agent) -> None:
    operator.send("PUT", TRIGGER, GIVEN)
    arrived(1)
    arrived(2, skipped="the filter does not hold of it")
    client = Client()
    client.force_login(make_user("vera", "runs.view_run"))
    User.objects.filter(username="vera").update(is_staff=True)
    page = client.get("/admin/webhooks/triggerarrival/?q=pager").content.decode()
    assert "delivery-1" in page
    assert "the filter does not hold of it" in page
    assert "delivery-1" not in client.get("/admin/webhooks/triggerarrival/?q=page").content.decode()
    assert client.get("/admin/webhooks/trigger/").status_code == 403


def shell(*words: str) -> str:
    out = StringIO()
    call_command("webhooks", *words, stdout=out)
    return out.getvalue()


def test_the_shell_keeps_tries_and_lists(operator: Api, agent: Agent, tmp_path: Path) -> None:
    sample = tmp_path / "alert.json"
    sample.write_text(json.dumps(ALERT))
    flags = ["--kind=webhook", "--agent=triage", "--started-by=olga", "--secret-env=A", "--secret-env=B"]  # fmt: skip
    assert "kind is missing: webhook or ticket" in refusal("save", "pager", *flags[1:], "--task=x", f"--sample={sample}")  # fmt: skip
    said = shell("save", "pager", *flags, "--task={{ problem }}", f"--sample={sample}")
    assert "a call at /hooks/pager starts agent triage as olga" in said
    assert Trigger.objects.get().secret_envs == ["A", "B"]
    assert '"task": "disk full"' in shell("try", "pager", str(sample))
    assert "leads nowhere" in refusal("try", "pager", str(sample), "--task={{ node }}")
    arrived(1)
    assert "delivery-1" in shell("arrivals", "pager")
    shell("disable", "pager")
    assert "disabled" in shell("list")
    shell("enable", "pager")
    assert "--task beside it" in refusal("save", "pager", "--mission=x")
    assert "there is no trigger" in refusal("arrivals", "nobody")
    sample.write_bytes(b"[" + b"1," * 200_000 + b"1]")
    assert "has more than" in refusal("try", "pager", str(sample))
    shell("remove", "pager")
    assert not Trigger.objects.exists()


def refusal(*words: str) -> str:
    with pytest.raises(LiyagentError) as caught:
        shell(*words)
    return str(caught.value)
