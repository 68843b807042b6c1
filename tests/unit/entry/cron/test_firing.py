"""A slot is fired once, whoever finds it and whoever dies; what was missed, and what overlaps, is recorded (CR-03, ruling 31)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from liyagent.agents.models import Agent
from liyagent.core.transactions import InTransaction, NoTransaction
from liyagent.entry.begin import begin_due
from liyagent.entry.cron import fire
from liyagent.entry.cron.fire import fire_due, settle_due
from liyagent.entry.cron.models import CronFire, CronTrigger
from liyagent.entry.cron.run_now import run_now
from runs.models import Run
from tests.unit.entry.cron.conftest import Cron
from tests.unit.runs.carrying.conftest import calls, never, says

TEN = [f"2026-06-01T10:{minute:02}:00Z" for minute in range(10)]


@pytest.mark.promise("CR-03")
def test_a_slot_that_is_due_is_a_run_of_its_agent_and_its_outcome_stands_on_it_once(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T00:00")
    trigger = cron.save(timezone="Europe/Berlin")
    assert trigger.next_slot is not None
    assert f"{trigger.next_slot:%dT%H:%M}" == "01T00:30"
    assert cron.look() == 0
    cron.at("2026-06-01T00:30")
    assert cron.look() == 1
    assert cron.look() == 0
    run = Run.objects.get()
    assert (run.entry, run.started_by, run.agent_key) == ("cron", "olga", "triage")
    assert cron.fires() == [("2026-06-01T00:30:00Z", "started")]
    cron.carry()
    assert cron.fires() == [("2026-06-01T00:30:00Z", "answered")]
    assert cron.world.model.asked[0].messages[-1].text == "look at the disks"
    moved = cron.trigger()
    assert moved.last_slot == trigger.next_slot
    assert moved.next_slot is not None
    assert f"{moved.next_slot:%dT%H:%M}" == "02T00:30"


@pytest.mark.field("FL-67")
@pytest.mark.field("FL-68")
def test_of_many_that_look_at_once_each_slot_is_fired_by_one(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    for number in range(12):
        cron.save("0 10 * * *", key=f"t{number}")
    cron.at("2026-06-01T10:00")

    def look(_number: int) -> int:
        try:
            return cron.look()
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(look, range(6))) == 12
    assert Run.objects.count() == CronFire.objects.count() == 12


@pytest.mark.promise("CR-03")
@pytest.mark.field("FL-68")
@pytest.mark.parametrize("dies_in", ["keep_arrival", "next_slot", "begin_all"])
def test_a_process_that_dies_around_a_fire_has_done_all_of_it_or_nothing(
    cron: Cron, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    def die(*_args: Any, **_facts: Any) -> None:
        raise SystemExit

    cron.at("2026-06-01T00:00")
    before = cron.save().next_slot
    cron.at("2026-06-01T02:30")
    with monkeypatch.context() as patch:
        patch.setattr(fire, dies_in, die)
        with pytest.raises(SystemExit):
            cron.look()
    is_kept = dies_in == "begin_all"
    assert CronFire.objects.count() == int(is_kept)
    assert (cron.trigger().next_slot == before) is not is_kept
    assert not Run.objects.exists()
    # Whoever lives: what was kept is begun once its ten seconds are over, what was not is fired.
    cron.at("2026-06-01T02:31")
    cron.look()
    begin_due(never)
    assert cron.fires() == [("2026-06-01T02:30:00Z", "started")]
    assert Run.objects.count() == 1


@pytest.mark.field("FL-01")
@pytest.mark.promise("CR-03")
def test_a_fire_that_is_found_again_while_its_run_goes_on_is_not_run_twice(cron: Cron) -> None:
    cron.at("2026-06-01T00:00")
    cron.save()
    cron.at("2026-06-01T02:30")
    cron.look()
    cron.world.model.steps = [calls(("v/keyed", {"title": "disk 91%"})), says("filed")]
    first = cron.world.process("first")
    ((run_id, attempt),) = first.take()
    # Delivered again: the slot is due once more, and what was kept of it is to be begun once more.
    cron.world.sql("UPDATE cron_crontrigger SET next_slot = '2026-06-01T02:30Z'")
    cron.world.sql("UPDATE entry_arrival SET state = 'received', claimed_until = NULL")
    cron.look()
    begin_due(never)
    assert cron.world.process("second").take() == []
    assert cron.world.model.asked == []
    first.go_on(run_id, attempt)
    assert len(cron.world.vendor.of("keyed")) == 1
    assert cron.fires() == [("2026-06-01T02:30:00Z", "answered")]
    assert Run.objects.count() == 1


def test_while_the_run_of_a_slot_goes_on_the_next_is_recorded_and_not_started(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    for minute in (0, 1, 2):
        cron.at(f"2026-06-01T10:0{minute}")
        cron.look()
    run = Run.objects.get()
    assert cron.fires() == [(TEN[0], "started"), (TEN[1], "skipped"), (TEN[2], "skipped")]
    reasons = set(CronFire.objects.filter(state="skipped").values_list("reason", flat=True))
    assert reasons == {f"run {run.id} of an earlier slot still goes on"}
    cron.carry()
    cron.at("2026-06-01T10:03")
    cron.look()
    assert cron.fires()[0::3] == [(TEN[0], "answered"), (TEN[3], "started")]


def test_another_triggers_run_is_no_overlap(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    cron.save("* * * * *", key="other")
    cron.at("2026-06-01T10:00")
    assert cron.look() == 2
    assert Run.objects.count() == 2


@pytest.mark.field("FL-68")
def test_a_run_by_hand_before_a_slot_swallows_nothing(cron: Cron) -> None:
    cron.at("2026-06-01T09:59:50")
    cron.save("0 10 * * *")
    by_hand = run_now("nightly", actor="olga")
    cron.at("2026-06-01T10:00")
    assert cron.look() == 1
    assert [it for _, it in cron.fires()] == ["started", "started"]
    assert Run.objects.count() == 2
    (row,) = cron.world.audit("cron.run_now")
    assert row["trigger"] == "nightly"
    assert CronFire.objects.get(run_id=by_hand.run_id).delivery_id.startswith("manual:")
    # And the slot does not stand in the way of a hand either.
    assert run_now("nightly", actor="olga").is_new


def test_after_downtime_the_latest_slot_is_fired_once_and_the_others_are_recorded(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    cron.at("2026-06-01T10:04:59")
    assert cron.look() == 1
    assert [it for _, it in cron.fires()] == ["skipped"] * 4 + ["started"]
    assert cron.fires()[-1][0] == TEN[4]
    told = CronFire.objects.filter(state="skipped").values_list("reason", flat=True)
    assert set(told) == {f"missed: no process fired it in time; {TEN[4]} was caught up"}
    assert cron.look() == 0
    assert Run.objects.count() == 1


def test_without_catching_up_a_late_slot_is_recorded_and_one_in_time_is_fired(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0,5 10 * * *", catch_up=False)
    cron.at("2026-06-01T10:01:30")
    assert cron.look() == 1
    assert cron.fires() == [(TEN[0], "skipped")]
    assert "catch_up is off" in CronFire.objects.get().reason
    cron.at("2026-06-01T10:05:30")
    assert cron.look() == 1
    assert cron.fires() == [(TEN[0], "skipped"), (TEN[5], "started")]


def test_what_was_missed_in_a_long_downtime_is_a_hundred_rows_and_one_that_counts_the_rest(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    cron.save("* * * * *", key="of-years")
    cron.world.sql("UPDATE cron_crontrigger SET next_slot = '2021-06-01T00:00Z' WHERE key = 'of-years'")  # fmt: skip
    cron.at("2026-06-01T14:09")
    assert cron.look() == 2
    assert CronFire.objects.filter(source="nightly").count() == 102
    (counted,) = CronFire.objects.filter(source="nightly", delivery_id__startswith="missed:")
    assert counted.reason.startswith("149 further slots from 2026-06-01T11:40:00Z up to 2026-06-01T14:09:00Z were missed")  # fmt: skip
    assert CronFire.objects.get(source="nightly", state="started").delivery_id == "2026-06-01T14:09:00Z"  # fmt: skip
    assert CronFire.objects.filter(source="of-years").count() == 102
    (counted,) = CronFire.objects.filter(source="of-years", delivery_id__startswith="missed:")
    assert counted.reason.startswith("more than 10000 further slots")
    assert Run.objects.count() == 2


def test_an_agent_that_may_not_start_it_has_it_refused_and_the_next_slot_is_tried(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("* * * * *")
    Agent.objects.update(channels=["api"])
    cron.at("2026-06-01T10:00")
    cron.look()
    refused = CronFire.objects.get()
    assert refused.state == "refused"
    assert "triage permits runs by api, not by cron" in refused.reason
    assert cron.world.audit("entry.refused")[0]["delivery"] == TEN[0]
    Agent.objects.update(channels=["cron"])
    cron.at("2026-06-01T10:01")
    cron.look()
    assert cron.fires() == [(TEN[0], "refused"), (TEN[1], "started")]


def test_one_whose_slots_cannot_be_told_stands_still_and_the_others_are_fired(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *", key="a")
    cron.save("0 10 * * *", key="b")
    # As where the zone is gone from this system.
    cron.world.sql("UPDATE cron_crontrigger SET timezone = 'Mars/Olympus' WHERE key = 'a'")
    cron.at("2026-06-01T10:00")
    assert cron.look() == 2
    assert cron.look() == 0
    stopped = cron.trigger("a")
    assert "'Mars/Olympus' is no time zone here" in stopped.problem
    assert f"{stopped.next_slot:%H:%M}" == "10:00"
    assert cron.world.audit("cron.trigger_stopped")[0]["trigger"] == "a"
    assert cron.fires("b") == [(TEN[0], "started")]
    # Saved again it goes on, and what it missed meanwhile is caught up.
    cron.world.sql("UPDATE cron_crontrigger SET timezone = 'UTC' WHERE key = 'a'")
    cron.save("0 10 * * *", key="a")
    assert cron.look() == 1
    assert cron.fires("a") == [(TEN[0], "started")]


@pytest.mark.parametrize(
    "edit", ["timezone = 'Europe'", "schedule = '* * * * * *'", "schedule = ''"]
)
def test_one_that_was_edited_by_hand_stands_still_and_the_others_are_fired(
    cron: Cron, edit: str
) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("59 9 * * *", key="a")
    cron.save("0 10 * * *", key="b")
    cron.world.sql(
        f"UPDATE cron_crontrigger SET {edit}, next_slot = '2026-06-01T09:59Z' WHERE key = 'a'"
    )
    cron.at("2026-06-01T10:00")
    assert cron.look() == 2
    assert (cron.fires("a"), cron.fires("b")) == ([], [(TEN[0], "started")])
    assert cron.trigger("a").problem


def test_no_trigger_is_fired_inside_a_transaction_and_none_is_moved_outside_one(
    cron: Cron,
) -> None:
    cron.at("2026-06-01T00:00")
    trigger = cron.save()
    with pytest.raises(InTransaction), transaction.atomic():
        fire_due(never)
    with pytest.raises(NoTransaction):
        settle_due(trigger, trigger.updated_at)


def test_a_look_that_is_told_to_end_fires_no_more(cron: Cron) -> None:
    cron.at("2026-06-01T09:59")
    cron.save("0 10 * * *")
    cron.at("2026-06-01T10:00")
    assert fire_due(lambda: True) == 0
    assert CronTrigger.objects.get().last_slot is None


def test_the_clock_of_the_process_decides_nothing(cron: Cron) -> None:
    """The database's clock stands ten years ahead of the process's."""
    cron.at("2036-06-01T09:59")
    cron.save("0 10 * * *")
    assert cron.look() == 0
    cron.at("2036-06-01T10:00")
    assert cron.look() == 1
    assert cron.fires() == [("2036-06-01T10:00:00Z", "started")]
