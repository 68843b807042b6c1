"""The guards of cron: a slot is fired once, at the right instant, and by who may."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/entry/cron/"
TESTS = "tests/unit/entry/cron/"
FIRING, SCHEDULE, TRIGGERS = f"{TESTS}test_firing.py::", "tests/unit/core/test_schedule.py::", f"{TESTS}test_triggers.py::"  # fmt: skip
NIGHT = f"{SCHEDULE}test_over_a_change_of_clocks_each_slot_comes_once"
DYING = f"{FIRING}test_a_process_that_dies_around_a_fire_has_done_all_of_it_or_nothing"

CRON: tuple[Guard, ...] = (
    Guard(
        name="a slot and the move of its trigger are one commit",
        file=f"{ROOM}fire.py",
        search="            found = _claimed()\n            kept = settle_due(found[0], found[1]) if found else []\n",
        replace=(
            "            found = _claimed()\n"
            "            for it in [found[0]] if found else []:\n"
            "                later = next_slot(it.schedule, it.timezone, found[1])\n"
            "                CronTrigger.objects.filter(pk=it.pk).update(next_slot=later)\n"
            "        with transaction.atomic():\n"
            "            kept = settle_due(found[0], found[1]) if found else []\n"
        ),
        tests=(DYING,),
    ),
    Guard(
        name="of two that look one has a trigger",
        file=f"{ROOM}fire.py",
        search=" FOR UPDATE SKIP LOCKED",
        replace="",
        tests=(f"{FIRING}test_of_many_that_look_at_once_each_slot_is_fired_by_one",),
    ),
    Guard(
        name="a slot is named by its instant",
        file=f"{ROOM}fire.py",
        search="kept = keep_arrival(arriving(trigger, slot_id(slot), skipped=skipped))",
        replace="kept = keep_arrival(arriving(trigger, str(trigger.updated_at) + str(id(slot)), skipped=skipped))",
        tests=(f"{FIRING}test_a_fire_that_is_found_again_while_its_run_goes_on_is_not_run_twice",),
    ),
    Guard(
        name="a slot that overlaps is not started",
        file=f"{ROOM}fire.py",
        search='overlaps = f"run {goes_on} of an earlier slot still goes on" if goes_on else ""',
        replace='overlaps = ""',
        tests=(
            f"{FIRING}test_while_the_run_of_a_slot_goes_on_the_next_is_recorded_and_not_started",
        ),
    ),
    Guard(
        name="a run by hand swallows no slot",
        file=f"{ROOM}fire.py",
        search="found.exclude(delivery_id__startswith=MANUAL).order_by",
        replace="found.order_by",
        tests=(f"{FIRING}test_a_run_by_hand_before_a_slot_swallows_nothing",),
    ),
    Guard(
        name="of what was missed one is caught up",
        file=f"{ROOM}fire.py",
        search="is_fired = trigger.catch_up or now - last <= ON_TIME",
        replace="is_fired = True",
        tests=(
            f"{FIRING}test_without_catching_up_a_late_slot_is_recorded_and_one_in_time_is_fired",
        ),
    ),
    Guard(
        name="what was missed is bounded",
        file=f"{ROOM}fire.py",
        search="for slot in islice(missed, MOST_ROWS):",
        replace="for slot in missed:",
        tests=(
            f"{FIRING}test_what_was_missed_in_a_long_downtime_is_a_hundred_rows_and_one_that_counts_the_rest",
        ),
    ),
    Guard(
        name="a trigger that cannot be told does not keep the others from firing",
        file=f"{ROOM}fire.py",
        search="        _stand_still(trigger, str(error))\n        return []\n",
        replace="        raise\n",
        tests=(
            f"{FIRING}test_one_whose_slots_cannot_be_told_stands_still_and_the_others_are_fired",
        ),
    ),
    Guard(
        name="a slot that is due is fired before its trigger is changed",
        file=f"{ROOM}triggers.py",
        search="    kept = settle_due(found, now) if found else []\n",
        replace="    kept: list[UUID] = []\n",
        tests=(
            f"{TRIGGERS}test_a_slot_that_is_due_when_its_trigger_is_changed_is_fired_as_it_was_declared",
        ),
    ),
    Guard(
        name="a time that comes twice is its first",
        file="liyagent/core/schedule.py",
        search="        yield instants[0]\n",
        replace="        yield from instants\n",
        tests=(NIGHT,),
    ),
    Guard(
        name="a time that does not exist is the next that does",
        file="liyagent/core/schedule.py",
        search="        while not (instants := _instants(there, zone)):\n            there += MINUTE\n        yield instants[0]\n",
        replace="        yield from _instants(there, zone)[:1]\n",
        tests=(NIGHT,),
    ),
    Guard(
        name="open hours follow real time",
        file="liyagent/core/schedule.py",
        search='follows_real_time = line.split()[1].startswith("*")',
        replace='follows_real_time = line == ""',
        tests=(NIGHT,),
    ),
    Guard(
        name="six fields are refused",
        file="liyagent/core/schedule.py",
        search="    if len(fields) == 6:",
        replace="    if len(fields) == 60:",
        tests=(f"{SCHEDULE}test_a_line_that_cannot_be_kept_is_refused_with_what_to_write",),
    ),
    Guard(
        name="runs by hand are bounded",
        file=f"{ROOM}run_now.py",
        search="        _refuse_burst(key)\n",
        replace="        pass\n",
        tests=(
            f"{TRIGGERS}test_a_run_by_hand_is_found_again_by_its_key_and_a_burst_is_told_to_wait",
        ),
    ),
)
