"""Triggers are kept by who may, with what they need; pausing and changing one loses no slot and doubles none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.exceptions import Throttled

from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.entry.begin import begin_due
from liyagent.entry.cron.errors import TriggerInvalid, TriggerTaken, TriggerUnknown
from liyagent.entry.cron.models import CronFire, CronTrigger
from liyagent.entry.cron.run_now import run_now
from liyagent.entry.cron.triggers import find_trigger, remove_trigger, save_trigger
from liyagent.entry.errors import ArrivalRefused, MayNotName
from runs.models import Run
from tests.unit.entry.cron.conftest import OLGA, SHELL, Cron
from tests.unit.runs.carrying.conftest import never

GIVEN: dict[str, Any] = {"agent": "triage", "task": "look", "schedule": "0 10 * * *"}
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"agent": "nobody"}, "agent", "an agent there is"),
    ({"agent": 7}, "agent", "an agent there is"),
    ({"task": " "}, "task", "1 to 20000 characters"),
    ({"task": "x" * 20_001}, "task", "1 to 20000 characters"),
    ({"schedule": "0 0 10 * * *"}, "schedule", "six fields"),
    ({"schedule": "0 0 31 2 *"}, "schedule", "no month has"),
    ({"schedule": ["0 10 * * *"]}, "schedule", "a text of five fields"),
    ({"timezone": "CEST"}, "timezone", "no time zone"),
    ({"timezone": None}, "timezone", "no time zone"),
    ({"is_enabled": "yes"}, "is_enabled", "true or false"),
    ({"catch_up": 1}, "catch_up", "true or false"),
    ({"overlap": "allow"}, "overlap", "wants skip"),
    ({"next_slot": "2026-01-01T00:00Z"}, "next_slot", "not known"),
]


@pytest.mark.parametrize(("facts", "field", "said"), BAD, ids=lambda it: str(it)[:30])
def test_a_trigger_that_cannot_be_used_is_refused_by_field_and_nothing_is_kept(
    cron: Cron, facts: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(TriggerInvalid) as refused:
        save_trigger("nightly", {**GIVEN, **facts}, saver=OLGA)
    assert [it["field"] for it in refused.value.errors] == [field]
    assert said in refused.value.errors[0]["detail"]
    assert not CronTrigger.objects.exists()


def test_what_is_missing_is_named_and_an_unknown_trigger_names_those_there_are(cron: Cron) -> None:
    with pytest.raises(TriggerInvalid, match="agent is missing; task is missing; schedule is"):
        save_trigger("nightly", {}, saver=OLGA)
    with pytest.raises(TriggerInvalid, match="key wants"):
        save_trigger("no key", GIVEN, saver=OLGA)
    cron.save(key="there")
    with pytest.raises(TriggerUnknown, match="there are: there"):
        find_trigger("nightly\x00")


def test_nobody_gives_a_trigger_another_persons_rights_without_keeping_users(cron: Cron) -> None:
    User.objects.create_superuser("root")
    with pytest.raises(MayNotName):
        save_trigger("nightly", {**GIVEN, "started_by": "root"}, saver=OLGA)
    assert save_trigger("nightly", {**GIVEN, "started_by": "root"}, saver=SHELL).started_by == "root"  # fmt: skip
    assert save_trigger("nightly", {"catch_up": False}, saver=SHELL).started_by == "root"
    # Who changes the task may not have root's runs do what they want.
    assert save_trigger("nightly", {"task": "all of it"}, saver=OLGA).started_by == "olga"
    with pytest.raises(BadInput, match="no active user"):
        save_trigger("nightly", {"started_by": "gone"}, saver=SHELL)
    with pytest.raises(BadInput, match="no user is named"):
        save_trigger("third", GIVEN, saver=SHELL)
    assert len(cron.world.audit("cron.trigger_saved")) == 3


def test_a_slot_that_is_due_when_its_trigger_is_changed_is_fired_as_it_was_declared(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *", task="the old one")
    cron.at("2026-06-01T10:00:01")
    changed = cron.save("30 12 * * *", task="the new one")
    assert cron.fires() == [("2026-06-01T10:00:00Z", "started")]
    assert f"{changed.next_slot:%dT%H:%M}" == "01T12:30"
    cron.carry()
    assert cron.world.model.asked[0].messages[-1].text == "the old one"
    assert cron.look() == 0


def test_what_is_saved_without_another_schedule_keeps_its_next_slot(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    before = cron.save("0 10 * * *").next_slot
    assert cron.save("0 10 * * *", task="another").next_slot == before
    assert cron.save("0 10 * * *", timezone="Europe/Berlin").next_slot != before
    # As after a clock that was ahead by years, and was put right.
    cron.world.sql("UPDATE cron_crontrigger SET next_slot = '2099-01-01T08:00Z'")
    assert f"{cron.save('0 10 * * *').next_slot:%Y-%m-%dT%H:%M}" == "2026-06-02T08:00"


def test_a_paused_trigger_fires_nothing_and_a_resumed_one_goes_on_with_the_next_slot(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 * * * *")
    paused = save_trigger("nightly", {"is_enabled": False}, saver=OLGA)
    assert paused.next_slot is None
    cron.at("2026-06-01T12:30")
    assert cron.look() == 0
    resumed = save_trigger("nightly", {"is_enabled": True}, saver=OLGA)
    assert f"{resumed.next_slot:%H:%M}" == "13:00"
    assert cron.look() == 0
    assert cron.fires() == []
    cron.at("2026-06-01T13:00")
    assert cron.look() == 1


def test_two_that_make_the_same_trigger_at_once_make_one(cron: Cron) -> None:
    def make(_number: int) -> str:
        try:
            return save_trigger("nightly", GIVEN, saver=OLGA).key
        except TriggerTaken as taken:
            return taken.code
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(make, range(6))) <= {"nightly", "cron.trigger_taken"}
    assert CronTrigger.objects.count() == 1


def test_saving_while_it_is_fired_neither_loses_nor_doubles_a_slot(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *")
    cron.at("2026-06-01T10:00")

    def do(number: int) -> None:
        try:
            if number % 2:
                cron.look()
            else:
                save_trigger("nightly", {"task": f"the {number}th"}, saver=OLGA)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(do, range(16)))
    assert cron.fires() == [("2026-06-01T10:00:00Z", "started")]
    assert Run.objects.count() == 1


def test_a_removed_trigger_fires_no_more_and_its_runs_go_on(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    cron.at("2026-06-01T10:00")
    cron.look()
    remove_trigger("nightly", actor="olga")
    cron.at("2026-06-01T10:01")
    assert cron.look() == 0
    cron.carry()
    assert cron.fires() == [("2026-06-01T10:00:00Z", "answered")]
    assert cron.world.audit("cron.trigger_removed")
    with pytest.raises(TriggerUnknown):
        remove_trigger("nightly", actor="olga")


def test_a_run_by_hand_is_found_again_by_its_key_and_a_burst_is_told_to_wait(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save()
    first = run_now("nightly", actor="olga", start_key="press-1")
    again = run_now("nightly", actor="olga", start_key="press-1")
    assert (again.run_id, again.is_new) == (first.run_id, False)
    for _ in range(9):
        run_now("nightly", actor="olga")
    with pytest.raises(Throttled, match="10 runs of this trigger"):
        run_now("nightly", actor="olga")
    assert not run_now("nightly", actor="olga", start_key="press-1").is_new
    with pytest.raises(BadInput, match="at most 200"):
        run_now("nightly", actor="olga", start_key="x" * 201)
    with pytest.raises(TriggerUnknown):
        run_now("other", actor="olga")
    assert Run.objects.count() == CronFire.objects.count() == 10


def test_a_run_by_hand_that_the_agent_may_not_start_is_refused_and_recorded(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save()
    Agent.objects.update(channels=["api"])
    with pytest.raises(ArrivalRefused, match="not by cron"):
        run_now("nightly", actor="olga")
    assert [it for _, it in cron.fires()] == ["refused"]


def test_what_is_kept_by_a_save_whose_process_dies_is_begun_by_another(
    cron: Cron, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_args: Any) -> None:
        raise LiyagentError("dead")

    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *")
    cron.at("2026-06-01T10:00")
    with monkeypatch.context() as patch:
        patch.setattr("liyagent.entry.cron.triggers.begin_all", die)
        with pytest.raises(LiyagentError, match="dead"):
            cron.save("0 11 * * *")
    cron.at("2026-06-01T10:01")
    assert begin_due(never) == 1
    assert cron.fires() == [("2026-06-01T10:00:00Z", "started")]
