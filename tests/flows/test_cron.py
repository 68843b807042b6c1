"""Cron triggers over the API, in the console and at the shell."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import Conflict, LiyagentError
from liyagent.entry.arrive import keep_arrival
from liyagent.entry.cron.fire import arriving
from liyagent.entry.cron.models import CronFire, CronTrigger
from runs.models import Run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

GIVEN = {
    "agent": "triage",
    "task": "look at the disks",
    "schedule": "30 2 * * *",
    "timezone": "Europe/Berlin",
}
ALL, ONE = "/api/cron-triggers", "/api/cron-triggers/nightly"


def test_a_trigger_is_kept_shown_paused_and_removed(operator: Api, agent: Agent) -> None:
    made = operator.send("PUT", ONE, GIVEN)
    assert (made.status, made.data["started_by"], made.data["agent"]) == (201, "olga", "triage")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT0[01]:30:00Z", made.data["next_slot"])
    assert (made.data["catch_up"], made.data["overlap"]) == (True, "skip")
    assert (made.data["last_fire"], made.data["last_slot"]) == (None, None)
    paused = operator.send("PUT", ONE, {"is_enabled": False})
    assert (paused.status, paused.data["next_slot"]) == (200, None)
    assert operator.get(ONE).data["task"] == "look at the disks"
    (listed,) = operator.get(ALL).data["triggers"]
    assert listed["key"] == "nightly"
    assert operator.send("DELETE", ONE).status == 204
    gone = operator.get(ONE)
    assert (gone.status, gone.data["code"]) == (404, "cron.trigger_not_found")


def test_what_cannot_be_kept_is_told_by_field(operator: Api, agent: Agent) -> None:
    wrong = {**GIVEN, "schedule": "0 30 2 * * *", "timezone": "CEST", "agent": "x", "colour": "red"}
    refused = operator.send("PUT", ONE, wrong)
    assert (refused.status, refused.data["code"]) == (400, "cron.trigger_invalid")
    told = {it["field"]: it["detail"] for it in refused.data["errors"]}
    assert set(told) == {"schedule", "timezone", "agent", "colour"}
    assert "six fields; it wants five: minute, hour" in told["schedule"]
    assert operator.send("PUT", ONE, []).status == 400
    other = operator.send("PUT", ONE, {**GIVEN, "started_by": "rita"})
    assert (other.status, other.data["code"]) == (403, "entry.may_not_name")
    assert not CronTrigger.objects.exists()


def test_a_run_by_hand_is_accepted_once_for_its_key_and_stands_among_the_fires(
    operator: Api, agent: Agent
) -> None:
    operator.send("PUT", ONE, GIVEN)
    first = operator.post(f"{ONE}/run", {}, **{"Idempotency-Key": "press-1"})
    assert (first.status, first.data["is_new"]) == (202, True)
    again = operator.post(f"{ONE}/run", {}, **{"Idempotency-Key": "press-1"})
    assert again.data == {"id": first.data["id"], "is_new": False}
    assert operator.get(f"/api/runs/{first.data['id']}").data["entry"] == "cron"
    (fire,) = operator.get(f"{ONE}/fires").data["fires"]
    assert (fire["run_id"], fire["kind"], fire["slot"]) == (first.data["id"], "manual", None)
    assert operator.get(ONE).data["last_fire"]["state"] == "started"
    assert operator.post("/api/cron-triggers/other/run", {}).status == 404
    assert operator.post(f"{ONE}/run", {}, **{"Idempotency-Key": "x" * 201}).status == 400
    for _ in range(9):
        assert operator.post(f"{ONE}/run", {}).status == 202
    burst = operator.post(f"{ONE}/run", {})
    assert (burst.status, burst.headers["Retry-After"]) == (429, "10")
    Agent.objects.update(channels=["api"])
    Run.objects.update(status="answered", ended_at=Run.objects.all()[0].created_at)
    refused = operator.post(f"{ONE}/run", {})
    assert (refused.status, refused.data["code"]) == (409, "arrival.refused")
    assert "not by cron" in refused.data["detail"]


def test_fires_are_listed_newest_first_by_a_cursor(operator: Api, agent: Agent) -> None:
    operator.send("PUT", ONE, GIVEN)
    trigger = CronTrigger.objects.get()
    for day in range(1, 6):
        keep_arrival(arriving(trigger, f"2026-06-0{day}T00:30:00Z", skipped="missed"))
    fires, path = [], f"{ONE}/fires?limit=2"
    while path:
        page = operator.get(path)
        fires += page.data["fires"]
        path = page.data["next"]
    assert [it["slot"] for it in fires] == [f"2026-06-0{day}T00:30:00Z" for day in range(5, 0, -1)]
    assert {it["state"] for it in fires} == {"skipped"}
    for wrong in ("cursor=x", "limit=0", "colour=red", "cursor=WyJ4Il0"):
        assert operator.get(f"{ONE}/fires?{wrong}").status == 400


def test_who_may_not_operate_keeps_and_runs_nothing(stranger: Api, agent: Agent) -> None:
    viewer = api_of(make_user("vera", "agents.view_agent"))
    assert viewer.send("PUT", ONE, GIVEN).status == 403
    assert viewer.post(f"{ONE}/run", {}).status == 403
    assert viewer.get(ALL).status == 200
    assert viewer.get(f"{ONE}/fires").status == 403
    assert stranger.get(ALL).status == 403
    assert Api().get(ALL).status == 401


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command("cron", *arguments, stdout=out)
    return out.getvalue()


def test_triggers_are_kept_and_run_at_the_shell(agent: Agent, fresh_db: FreshDatabase) -> None:
    make_user("kim", "agents.operate")
    flags = [f"--{name}={value}" for name, value in GIVEN.items()]
    with pytest.raises(LiyagentError, match=r"no user is named .* --started-by"):
        shell("save", "nightly", *flags)
    told = shell("save", "nightly", *flags, "--started-by=kim")
    assert re.search(r"fires next at \d{4}-\d\d-\d\dT0[01]:30:00Z; .* started by kim", told)
    assert re.search(r"nightly  enabled  triage +30 2 \* \* \*  Europe/Berlin", shell("list"))
    with pytest.raises(LiyagentError, match=r"agent there is: `manage\.py agents list` shows them"):
        shell("save", "nightly", "--agent=nobody")
    with pytest.raises(LiyagentError, match=r"no active user 'ghost': `manage\.py users list`"):
        shell("save", "nightly", "--started-by=ghost")
    with pytest.raises(LiyagentError, match="six fields"):
        shell("save", "nightly", "--schedule=0 30 2 * * *")
    assert "paused" in shell("pause", "nightly")
    assert "is started" in shell("run", "nightly")
    assert re.search(r"-  +manual  started  -  +[0-9a-f-]{36}", shell("fires", "nightly"))
    with pytest.raises(CommandError, match="from 1 to 200"):
        shell("fires", "nightly", "--limit=201")
    assert "started" in shell("list")
    assert "fires next at" in shell("resume", "nightly")
    shell("save", "nightly", "--catch-up=no")
    assert CronTrigger.objects.get().catch_up is False
    for _ in range(9):
        shell("run", "nightly")
    with pytest.raises(Conflict, match="asked for by hand"):
        shell("run", "nightly")
    with pytest.raises(LiyagentError, match="there is no cron trigger 'other'"):
        shell("pause", "other")
    assert "removed" in shell("remove", "nightly")


def test_triggers_are_kept_in_the_console(agent: Agent, fresh_db: FreshDatabase) -> None:
    User.objects.create_superuser("root")
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(username="root"))
    page = "/admin/cron/crontrigger/"
    assert browser.get(f"{page}add/").status_code == 200
    filled = {
        "key": "nightly",
        "agent_key": "triage",
        "task": "look",
        "schedule": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "is_enabled": "on",
        "catch_up": "on",
        "overlap": "skip",
    }
    refused = browser.post(f"{page}add/", {**filled, "schedule": "@daily"}, follow=True)
    assert b"it wants five fields" in refused.content
    assert browser.post(f"{page}add/", filled, follow=True).status_code == 200
    trigger = CronTrigger.objects.get()
    assert (trigger.started_by, trigger.agent_key) == ("root", "triage")
    assert b"nightly" in browser.get(page).content
    browser.post(f"{page}{trigger.pk}/change/", {**filled, "task": "look again"}, follow=True)
    assert CronTrigger.objects.get().task == "look again"

    def press(verb: str) -> None:
        asked = browser.get(f"{page}{trigger.pk}/{verb}", follow=True)
        assert asked.status_code == 200
        browser.post(asked.request["PATH_INFO"], follow=True)

    browser.get(f"{page}{trigger.pk}/run", follow=True)
    assert not Run.objects.exists()
    press("run")
    assert Run.objects.count() == 1
    press("pause")
    assert CronTrigger.objects.get().next_slot is None
    assert b"paused" in browser.get(page).content
    press("resume")
    assert CronTrigger.objects.get().next_slot is not None
    shown = browser.get(page).content
    assert b"started" in shown
    fires = browser.get("/admin/cron/cronfire/?q=nightly")
    assert str(CronFire.objects.get().run_id).encode() in fires.content
    press("remove")
    assert not CronTrigger.objects.exists()
    actions = set(AuditRow.objects.values_list("action", flat=True))
    assert {"cron.trigger_saved", "cron.run_now", "cron.trigger_removed"} <= actions


def test_the_console_lets_nobody_run_or_pause_who_may_not_operate(
    agent: Agent, fresh_db: FreshDatabase
) -> None:
    make_user("olga", "agents.operate")
    call_command("cron", "save", "nightly", "--agent=triage", "--task=look", "--schedule=* * * * *", "--started-by=olga", stdout=StringIO())  # fmt: skip
    vera = make_user("vera", "agents.view_agent")
    vera.is_staff = True
    vera.save(update_fields=["is_staff"])
    browser = Client(raise_request_exception=False)
    browser.force_login(vera)
    page = f"/admin/cron/crontrigger/{CronTrigger.objects.get().pk}"
    assert browser.get("/admin/cron/crontrigger/").status_code == 200
    for verb in ("run", "pause", "resume", "remove"):
        assert browser.post(f"{page}/{verb}", follow=True).status_code == 403
    assert browser.get("/admin/cron/cronfire/").status_code == 403
    assert not Run.objects.exists()
    assert CronTrigger.objects.get().is_enabled
