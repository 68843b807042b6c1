"""Bots and people over the API, in the console and at the shell; `/api/messages` is for the channel alone."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import LiyagentError
from liyagent.entry.teams.models import TeamsBot, TeamsPerson
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

ACCOUNT = "b4d2f6e1-8a6a-4b7b-9e64-3a5c1b2e0f12"
GIVEN: dict[str, Any] = {
    "agent": "triage",
    "app_id": "6f0a9d5e-54e8-4d5c-9a3e-7d2f1f0c1a11",
    "tenant": "0c3c6a70-21a8-4c6f-8a1e-2f7de6a2b001",
    "secret_env": "OTHER_SECRET",
}
BOT = "/api/teams/bots/desk"


def test_a_bot_is_kept_shown_switched_and_removed(operator: Api, agent: Agent) -> None:
    made = operator.send("PUT", BOT, GIVEN)
    assert (made.status, made.data["started_by"], made.data["agent"]) == (201, "olga", "triage")
    assert operator.send("PUT", BOT, {"secret_env": "THIRD"}).status == 200
    assert operator.get(BOT).data["secret_env"] == "THIRD"
    assert operator.post(f"{BOT}/disable", {}).data["is_enabled"] is False
    assert operator.post(f"{BOT}/enable", {}).data["is_enabled"] is True
    assert [it["key"] for it in operator.get("/api/teams/bots").data["bots"]] == ["desk"]
    assert operator.get(f"{BOT}/turns").data == {"turns": [], "next": None}
    assert operator.send("DELETE", BOT).status == 204
    assert operator.get(BOT).data["code"] == "teams.bot_not_found"


def test_what_cannot_be_kept_is_told_by_field(operator: Api, agent: Agent) -> None:
    refused = operator.send("PUT", BOT, {**GIVEN, "tenant": "common", "agent": "x"})
    assert (refused.status, refused.data["code"]) == (400, "teams.bot_invalid")
    assert [it["field"] for it in refused.data["errors"]] == ["agent", "tenant"]
    assert operator.send("PUT", BOT, []).status == 400
    other = operator.send("PUT", BOT, {**GIVEN, "started_by": "rita"})
    assert (other.status, other.data["code"]) == (403, "entry.may_not_name")


def test_people_are_said_by_themselves_or_by_who_keeps_users(operator: Api, agent: Agent) -> None:
    make_user("kim", "approvals.decide")
    person = f"/api/teams/people/{ACCOUNT}"
    assert operator.send("PUT", person, {"username": "kim"}).status == 403
    assert operator.send("PUT", person, {"username": "olga"}).data["username"] == "olga"
    keeper = api_of(make_user("uma", "agents.operate", "auth.change_user", "agents.view_agent"))
    assert keeper.send("PUT", person, {"username": "kim"}).status == 200
    assert keeper.get("/api/teams/people").data["people"][0]["username"] == "kim"
    assert keeper.send("PUT", person, {"username": "nobody"}).status == 400
    assert keeper.send("PUT", "/api/teams/people/x", {"username": "kim"}).status == 400
    assert keeper.send("DELETE", person).status == 204
    assert keeper.get(person).data["code"] == "teams.person_not_found"


def test_who_may_not_operate_keeps_no_bot(reader: Api, stranger: Api, agent: Agent) -> None:
    viewer = api_of(make_user("vera", "agents.view_agent"))
    assert viewer.send("PUT", BOT, GIVEN).status == 403
    assert viewer.get("/api/teams/bots").status == 200
    assert stranger.get("/api/teams/bots").status == 403


def test_messages_is_for_the_channel_alone(operator: Api) -> None:
    assert operator.post("/api/messages", {"type": "message"}).status == 401
    assert Api().post("/api/messages", {"type": "message"}).status == 401
    assert Api().get("/api/messages").status == 401


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command("teams", *arguments, stdout=out)
    return out.getvalue()


def test_bots_and_people_are_kept_at_the_shell(agent: Agent, fresh_db: FreshDatabase) -> None:
    make_user("kim", "approvals.decide")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in GIVEN.items()]
    with pytest.raises(LiyagentError, match="no user is named"):
        shell("save", "desk", *flags)
    assert "agent triage answers" in shell("save", "desk", *flags, "--started-by", "kim")
    assert "desk  enabled  triage" in shell("list")
    assert "disabled" in shell("disable", "desk")
    assert "enabled" in shell("enable", "desk")
    assert f"{ACCOUNT} is kim" in shell("person", ACCOUNT, "kim")
    assert "kim" in shell("people")
    assert "nobody" in shell("forget", ACCOUNT)
    with pytest.raises(LiyagentError, match="OTHER_SECRET is not set"):
        shell("check", "desk")
    assert "removed" in shell("remove", "desk")


def test_who_may_only_look_sees_bots_in_the_console_and_changes_none(
    agent: Agent, operator: Api
) -> None:
    operator.send("PUT", BOT, GIVEN)
    browser = Client(raise_request_exception=False)
    viewer = make_user("vera", "agents.view_agent", "runs.view_run")
    viewer.is_staff = True
    viewer.save(update_fields=["is_staff"])
    browser.force_login(viewer)
    for table in ("teamsbot", "teamsperson", "teamsturn"):
        assert browser.get(f"/admin/teams/{table}/").status_code == 200
        assert browser.get(f"/admin/teams/{table}/add/").status_code == 403
    page = f"/admin/teams/teamsbot/{TeamsBot.objects.get().pk}"
    assert browser.post(f"{page}/change/", {"key": "x"}).status_code == 403
    assert browser.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    browser.post(f"{page}/remove", follow=True)
    assert TeamsBot.objects.get().agent_key == "triage"


def test_bots_and_people_are_kept_in_the_console(agent: Agent, fresh_db: FreshDatabase) -> None:
    User.objects.create_superuser("root")
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(username="root"))
    page = "/admin/teams/teamsbot/"
    form = browser.get(f"{page}add/")
    assert form.status_code == 200
    cloud = form.context["adminform"].form
    given = {name: cloud[name].value() or "" for name in cloud.fields}
    filled = {**given, "key": "desk", "agent_key": "triage", "is_enabled": "on"}
    filled |= {name: value for name, value in GIVEN.items() if name != "agent"}
    refused = browser.post(f"{page}add/", {**filled, "tenant": "common"}, follow=True)
    assert b"tenant wants" in refused.content
    assert not TeamsBot.objects.exists()
    assert browser.post(f"{page}add/", filled, follow=True).status_code == 200
    bot = TeamsBot.objects.get()
    assert (bot.started_by, bot.agent_key) == ("root", "triage")
    assert b"desk" in browser.get(page).content
    changed = {**filled, "secret_env": "THIRD", "started_by": ""}
    browser.post(f"{page}{bot.pk}/change/", changed, follow=True)
    assert TeamsBot.objects.get().secret_env == "THIRD"
    assert browser.get("/admin/teams/teamsturn/").status_code == 200
    people = "/admin/teams/teamsperson/"
    browser.post(f"{people}add/", {"aad_object_id": ACCOUNT, "username": "root"}, follow=True)
    assert TeamsPerson.objects.get().username == "root"
    assert b"root" in browser.get(people).content
    assert browser.get(f"{people}{ACCOUNT}/change/").status_code == 200
    asked = browser.get(f"{page}{bot.pk}/remove", follow=True)
    assert b"Remove desk" in asked.content
    assert TeamsBot.objects.exists()
    browser.post(asked.request["PATH_INFO"], follow=True)
    assert not TeamsBot.objects.exists()
    actions = set(AuditRow.objects.values_list("action", flat=True))
    assert {"teams.bot_saved", "teams.person_saved", "teams.bot_removed"} <= actions
