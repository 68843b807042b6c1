"""Bots and people are kept by who may, with what they need, and every change is in the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from liyagent.core.errors import BadInput, Conflict
from liyagent.entry.errors import MayNotName
from liyagent.entry.teams.bots import BotInvalid, find_bot, remove_bot, save_bot, switch_bot
from liyagent.entry.teams.check import BotAmiss, check_bot
from liyagent.entry.teams.errors import AppTaken, BotUnknown, PersonUnknown
from liyagent.entry.teams.models import CLOUD_METADATA, TeamsBot, TeamsPerson
from liyagent.entry.teams.people import remove_person, save_person
from liyagent.entry.whom import Saver
from tests.flows.conftest import make_user
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import says

ACCOUNT = "B4D2F6E1-8a6a-4b7b-9e64-3a5c1b2e0f12"
SHELL = Saver(actor="cli:root", may_name_others=True)
OLGA = Saver(actor="olga", username="olga")
GIVEN: dict[str, Any] = {
    "agent": "triage",
    "app_id": "6F0A9D5E-54e8-4d5c-9a3e-7d2f1f0c1a11",
    "tenant": "0c3c6a70-21a8-4c6f-8a1e-2f7de6a2b001",
    "secret_env": "OTHER_SECRET",
}


def test_a_new_bot_is_of_the_public_cloud_and_its_runs_are_its_savers(teams: Teams) -> None:
    bot = save_bot("desk", GIVEN, saver=OLGA)
    assert (bot.metadata_url, bot.started_by, bot.is_enabled) == (CLOUD_METADATA, "olga", True)
    assert bot.app_id == GIVEN["app_id"].lower()
    assert bot.tokens_from == f"https://login.microsoftonline.com/{bot.tenant}/oauth2/v2.0/token"
    (row,) = teams.world.audit("teams.bot_saved")
    assert row["bot"] == "desk"
    changed = save_bot("desk", {"secret_env": "THIRD_SECRET"}, saver=OLGA)
    assert (changed.secret_env, changed.agent_key) == ("THIRD_SECRET", "triage")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"agent": "nobody"}, "agent"),
    ({"app_id": "x"}, "app_id"),
    ({"tenant": "common"}, "tenant"),
    ({"secret_env": "LIYAGENT_SECRET_KEY"}, "secret_env"),
    ({"secret_env": "the secret itself"}, "secret_env"),
    ({"metadata_url": "http://login.example.com/x"}, "metadata_url"),
    ({"metadata_url": "https://169.254.169.254/x"}, "metadata_url"),
    ({"token_url": "ftp://x"}, "token_url"),
    ({"token_url": "https://user@login.example.com/"}, "token_url"),
    ({"issuer": ""}, "issuer"),
    ({"is_enabled": "yes"}, "is_enabled"),
    ({"nonsense": 1}, "nonsense"),
]


def test_a_bot_that_cannot_be_used_is_refused_by_field_and_nothing_is_kept(teams: Teams) -> None:
    for facts, field in BAD:
        with pytest.raises(BotInvalid) as refused:
            save_bot("desk", {**GIVEN, **facts}, saver=OLGA)
        assert [it["field"] for it in refused.value.errors] == [field]
    with pytest.raises(BotInvalid, match="agent is missing"):
        save_bot("desk", {}, saver=OLGA)
    with pytest.raises(BotInvalid, match="key wants"):
        save_bot("no key", GIVEN, saver=OLGA)
    assert not TeamsBot.objects.filter(key="desk").exists()
    with pytest.raises(BotUnknown, match="there are: helpdesk"):
        find_bot("desk")


def test_one_app_is_one_bot(teams: Teams) -> None:
    with pytest.raises(AppTaken):
        save_bot("desk", {**GIVEN, "app_id": teams.bot.app_id}, saver=OLGA)


def test_nobody_gives_a_bot_another_persons_rights_without_keeping_users(teams: Teams) -> None:
    User.objects.create_superuser("root")
    with pytest.raises(MayNotName):
        save_bot("desk", {**GIVEN, "started_by": "root"}, saver=OLGA)
    assert save_bot("desk", {**GIVEN, "started_by": "root"}, saver=SHELL).started_by == "root"
    assert save_bot("desk", {"secret_env": "A"}, saver=SHELL).started_by == "root"
    # Who changes it may not have root's runs do what they want.
    assert save_bot("desk", {"agent": "triage"}, saver=OLGA).started_by == "olga"
    with pytest.raises(BadInput, match="no active user"):
        save_bot("desk", {"started_by": "gone"}, saver=SHELL)
    with pytest.raises(BadInput, match="no user is named"):
        save_bot("third", {**GIVEN, "app_id": ACCOUNT}, saver=SHELL)


def test_a_bot_is_not_removed_while_a_turn_of_it_goes_on(teams: Teams) -> None:
    teams.say("look", says("done"))
    with pytest.raises(Conflict, match="turns that go on"):
        remove_bot("helpdesk", actor="olga")
    teams.world.process().carry()
    remove_bot("helpdesk", actor="olga")
    assert not TeamsBot.objects.exists()
    assert teams.world.audit("teams.bot_removed")


def test_a_bot_is_switched_and_each_change_is_told_once(teams: Teams) -> None:
    assert not switch_bot("helpdesk", to_enabled=False, actor="olga").is_enabled
    switch_bot("helpdesk", to_enabled=False, actor="olga")
    assert switch_bot("helpdesk", to_enabled=True, actor="olga").is_enabled
    assert len(teams.world.audit("teams.bot_disabled")) == 1


def test_an_operator_says_which_account_is_theirs_and_nobody_elses(teams: Teams) -> None:
    make_user("kim", "approvals.decide")
    assert save_person(ACCOUNT, "olga", saver=OLGA).aad_object_id == ACCOUNT.lower()
    with pytest.raises(MayNotName):
        save_person("a" * 8 + ACCOUNT[8:], "kim", saver=OLGA)
    assert save_person(ACCOUNT, "kim", saver=SHELL).username == "kim"
    with pytest.raises(MayNotName, match="this account is 'kim'"):
        save_person(ACCOUNT, "olga", saver=OLGA)
    assert teams.world.audit("teams.person_saved")[-1]["before"] == "olga"
    remove_person(ACCOUNT, actor="olga")
    assert not TeamsPerson.objects.exists()
    with pytest.raises(PersonUnknown):
        remove_person(ACCOUNT, actor="olga")
    for wrong in ("x", "", "x" * 36):
        with pytest.raises(BadInput, match="no object id"):
            save_person(wrong, "olga", saver=OLGA)


def test_a_check_says_whether_a_bot_could_receive_and_answer(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = check_bot(teams.bot)
    assert lines[0].startswith("1 signing keys can be read")
    assert lines[1].startswith("a token is given out")
    monkeypatch.setenv("TEAMS_BOT_SECRET", "wrong")
    with pytest.raises(BotAmiss, match="AADSTS7000215"):
        check_bot(teams.bot)
