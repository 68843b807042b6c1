"""A job goes on from its cursor whoever dies with it; each step's effect and cursor are one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from liyagent.core.metrics import JOBS_ENDED
from liyagent.core.plain import TooLarge
from liyagent.jobs import work
from liyagent.jobs.admin import why_of
from liyagent.jobs.after_end import do_after_end
from liyagent.jobs.ask import ask_for, find_job
from liyagent.jobs.end import cancel_job, forget_jobs
from liyagent.jobs.errors import JobEnded, JobFailed, JobUnknown, KindUnknown
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import Job
from liyagent.jobs.take import IN_HAND, TAKE
from liyagent.leases.own import OWN
from liyagent.operation import scrape
from tests.unit.jobs.conftest import Killed, Shop, never


def test_a_job_is_done_step_by_step_and_tells_of_it(shop: Shop) -> None:
    job = shop.ask(mission="disks")
    assert shop.hand().work() == 1
    job.refresh_from_db()
    assert (job.status, job.done, job.total, job.words) == ("done", 3, 3, "number 3")
    assert (job.attempt, job.losses, job.cursor) == (1, 0, {"at": 3})
    assert None not in (job.started_at, job.ended_at)
    assert job.claimed_by is None
    assert shop.steps == [1, 2, 3]
    assert [it["status"] for it in shop.audit("job.ended")] == ["done"]
    assert shop.hand().work() == 0


@pytest.mark.promise("CR-06")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_job_of_a_dead_process_goes_on_from_its_cursor(shop: Shop, number: int) -> None:
    job = shop.ask()
    victim, survivor = shop.hand("victim"), shop.hand("survivor")

    def die(at: int) -> None:
        if at == number:
            raise Killed

    shop.before = die
    with pytest.raises(Killed):
        victim.work()
    job.refresh_from_db()
    assert (job.status, job.done) == ("running", number - 1)
    assert survivor.work() == 0, "it is not taken while its process may live"
    victim.die()
    shop.before = lambda _number: None
    assert survivor.work() == 1
    job.refresh_from_db()
    assert (job.status, job.losses, job.losses_here, job.attempt) == ("done", 1, 0, 2)
    assert shop.steps == [1, 2, 3]


@pytest.mark.promise("CR-06")
def test_an_effect_that_is_not_kept_leaves_the_cursor_where_it_was(shop: Shop) -> None:
    job = shop.ask()

    def fail(at: int) -> None:
        if at == 2:
            raise JobFailed("the other end is gone")

    shop.before = fail
    shop.hand().work()
    job.refresh_from_db()
    assert (job.status, job.reason, job.done) == ("failed", "the other end is gone", 1)
    assert shop.audit("job.ended")[0]["reason"] == "the other end is gone"


@pytest.mark.promise("CR-06")
def test_who_stalled_and_was_taken_over_writes_nothing_more(shop: Shop) -> None:
    job = shop.ask()
    stalled, other = shop.hand("stalled"), shop.hand("other")

    def overtake(at: int) -> None:
        if at == 2 and not job.losses:
            job.losses = 1
            stalled.die()
            other.work()

    shop.before = overtake
    stalled.work()
    found = Job.objects.get(id=job.id)
    assert (found.status, found.attempt, shop.steps) == ("done", 2, [1, 2, 3])


def test_a_job_that_ends_its_processes_is_failed_at_the_third_loss_at_one_step(shop: Shop) -> None:
    job = shop.ask()

    def die(at: int) -> None:
        if at == 2:
            raise Killed

    shop.before = die
    for name in "abc":
        hand = shop.hand(name)
        with pytest.raises(Killed):
            hand.work()
        hand.die()
    shop.hand("d").work()
    job.refresh_from_db()
    assert (job.status, job.losses_here, job.done) == ("failed", 3, 1)
    assert "lost 3 times at the same step" in job.reason


def test_losses_at_different_steps_do_not_fail_it(shop: Shop) -> None:
    shop.numbers = 6
    job = shop.ask()
    left = [2, 3, 4, 5]

    def die(at: int) -> None:
        if left and at == left[0]:
            left.pop(0)
            raise Killed

    shop.before = die
    for name in "abcd":
        hand = shop.hand(name)
        with pytest.raises(Killed):
            hand.work()
        hand.die()
    shop.hand("e").work()
    job.refresh_from_db()
    assert (job.status, job.losses) == ("done", 4)


@pytest.mark.promise("CR-31")
def test_a_kind_that_cannot_go_on_ends_interrupted_with_its_process(shop: Shop) -> None:
    lost, stopped = shop.ask("once", "lost"), shop.ask("once", "stopped")
    victim = shop.hand("victim")

    def die(at: int) -> None:
        if at == 2:
            raise Killed

    shop.before = die
    with pytest.raises(Killed):
        victim.work()
    victim.die()
    shop.before = lambda _number: None
    shop.steps.clear()
    # The survivor ends the first, begins the second, and is told to stop.
    shop.hand("survivor").work(lambda: bool(shop.steps))
    lost.refresh_from_db()
    stopped.refresh_from_db()
    assert {lost.status, stopped.status} == {"interrupted"}
    assert "cannot go on" in lost.reason
    assert "stopped" in stopped.reason
    assert shop.steps == [1]


def test_a_process_that_is_stopped_hands_back_and_that_is_no_loss(shop: Shop) -> None:
    job = shop.ask()
    shop.hand("a").work(lambda: len(shop.steps) >= 1)
    job.refresh_from_db()
    assert (job.status, job.done, job.claimed_by) == ("queued", 1, None)
    shop.hand("b").work()
    job.refresh_from_db()
    assert (job.status, job.losses, shop.steps) == ("done", 0, [1, 2, 3])


def test_a_wait_holds_no_thread(shop: Shop) -> None:
    shop.again_in = 3600.0
    job = shop.ask()
    assert shop.hand().work() == 1
    job.refresh_from_db()
    assert (job.status, job.done) == ("queued", 1)
    assert shop.hand().work() == 0
    shop.sql("UPDATE jobs_job SET next_at = liyagent_now()")
    assert shop.hand().work() == 1
    assert shop.steps == [1, 2]


def test_long_jobs_take_turns(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "TURN_SECONDS", -1.0)
    shop.ask(subject="first")
    shop.ask(subject="second")
    assert shop.hand().work() == 6 + 2
    assert shop.steps == [1, 1, 2, 2, 3, 3]
    assert {it.status for it in Job.objects.all()} == {"done"}


def test_a_database_that_is_away_is_no_loss(shop: Shop) -> None:
    job = shop.ask()
    hand = shop.hand()

    def away(at: int) -> None:
        if at == 2:
            shop.before = lambda _number: None
            raise OperationalError("gone away")

    shop.before = away
    with pytest.raises(OperationalError):
        hand.work()
    hand.work()
    job.refresh_from_db()
    assert (job.status, job.losses, job.attempt, shop.steps) == ("done", 0, 2, [1, 2, 3])


def test_what_nobody_expected_fails_the_job_and_not_the_worker(shop: Shop) -> None:
    broken, fine = shop.ask(subject="broken"), shop.ask(subject="fine")

    def fail(_at: int) -> None:
        shop.before = lambda _number: None
        raise ZeroDivisionError("by zero")

    shop.before = fail
    assert shop.hand().work() == 2
    broken.refresh_from_db()
    fine.refresh_from_db()
    assert (broken.status, broken.reason) == ("failed", "ZeroDivisionError: by zero")
    assert fine.status == "done"


def test_a_cancelled_job_keeps_nothing_of_the_step_in_hand(shop: Shop) -> None:
    job = shop.ask()

    def cancel(at: int) -> None:
        if at == 2:
            cancel_job(job.id, actor="olga")

    shop.before = cancel
    shop.hand().work()
    job.refresh_from_db()
    assert (job.status, job.done, shop.steps) == ("cancelled", 1, [1])
    assert job.reason == "cancelled by olga"
    with pytest.raises(JobEnded, match="ended as cancelled"):
        cancel_job(str(job.id), actor="olga")


def test_there_is_one_of_a_kind_about_one_thing_at_a_time(shop: Shop) -> None:
    first = ask_for("counting", "it", asked_by="olga")
    again = ask_for("counting", "it", asked_by="otto")
    assert (first.is_new, again.is_new, again.job.id) == (True, False, first.job.id)
    shop.hand().work()
    assert ask_for("counting", "it", asked_by="olga").is_new
    assert len(shop.audit("job.asked")) == 2


def test_what_cannot_be_asked_for_is_refused(shop: Shop) -> None:
    with pytest.raises(KindUnknown, match="no process does 'dancing'"):
        shop.ask("dancing")
    with pytest.raises(TooLarge):
        shop.ask(params={"text": "x" * 70_000})
    with pytest.raises(JobUnknown, match="is no id"):
        find_job("nothing")
    with pytest.raises(JobUnknown, match="there is no job"):
        find_job("018f0000-0000-7000-8000-000000000000")
    assert not Job.objects.exists()


def test_a_process_that_is_no_holder_takes_nothing_and_nobody_takes_a_kind_it_does_not_know(shop: Shop) -> None:  # fmt: skip
    job = shop.ask()
    OWN.holder = None
    assert work.work_due(never) == 0
    shop.sql("UPDATE jobs_job SET kind = 'of the next release'")
    assert shop.hand().work() == 0
    job.refresh_from_db()
    assert job.status == "queued"


def test_jobs_long_ended_are_forgotten(shop: Shop) -> None:
    shop.ask()
    shop.hand().work()
    assert forget_jobs(never) == 0
    shop.sql("UPDATE jobs_job SET ended_at = ended_at - interval '91 days'")
    assert forget_jobs(never) == 1
    assert not Job.objects.exists()


def test_a_take_that_cannot_be_read_is_found_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    job, hand = shop.ask(), shop.hand()

    def away(**_: Any) -> Job:
        raise OperationalError("gone away")

    with monkeypatch.context() as patch:
        patch.setattr(Job.objects, "get", away)
        with pytest.raises(OperationalError):
            hand.work()
    hand.work()
    job.refresh_from_db()
    assert (job.status, job.attempt, job.losses) == ("done", 2, 0)


def test_a_take_reads_no_further_than_what_is_due(shop: Shop) -> None:
    shop.sql(
        "INSERT INTO jobs_job (id, kind, subject, params, cursor, status, done, words, attempt, losses, losses_here, next_at,"
        " asked_by, mission, reason, created_at, ended_at) SELECT gen_random_uuid(), 'counting', n::text, '{}', '{}', 'done', 0, '',"
        " 1, 0, 0, liyagent_now(), 'olga', '', '', liyagent_now(), liyagent_now() FROM generate_series(1, 20000) AS n"
    )
    shop.sql("ANALYZE jobs_job")
    holder = shop.hand().holder
    values = [holder, holder, holder, *IN_HAND.values_to_take(holder, ["counting"])]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {TAKE}", values)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "jobs_due" in plan
    assert "Seq Scan on jobs_job" not in plan


def test_metrics_tell_how_many_jobs_there_are_and_how_long_the_oldest_waits(shop: Shop) -> None:
    shop.ask()
    shop.ask("once", "two")
    shop.sql(
        "UPDATE jobs_job SET next_at = liyagent_now() - interval '90 s' WHERE kind = 'counting'"
    )
    told = {(name, *labels): value for name, labels, value in scrape.ask(shop.url).rows}
    assert told["background_jobs", "counting", "queued"] == told["background_jobs", "once", "queued"] == 1  # fmt: skip
    assert 89 < told["background_job_oldest_seconds",] < 200
    before = JOBS_ENDED.of("counting", "done")._value.get()
    shop.hand().work()
    assert JOBS_ENDED.of("counting", "done")._value.get() == before + 1
    told = {(name, *labels): value for name, labels, value in scrape.ask(shop.url).rows}
    assert told["background_job_oldest_seconds",] == 0
    assert ("background_jobs", "counting", "queued") not in told


def test_what_came_of_a_job_stays_until_it_is_told_anew(shop: Shop) -> None:
    def steps(_job: Job) -> Iterator[Step]:
        yield Step(cursor={}, done=1, result={"found": 1})
        yield Step(cursor={}, done=2)

    HANDLERS["counting"] = Handler(steps=steps)
    job = shop.ask()
    shop.hand().work()
    job.refresh_from_db()
    assert (job.status, job.done, job.result) == ("done", 2, {"found": 1})


@pytest.mark.promise("CR-06")
def test_between_a_mark_and_its_sending_a_job_is_not_handed_back(shop: Shop) -> None:
    sent: list[int] = []

    def steps(_job: Job) -> Iterator[Step]:
        yield Step(cursor={"sending": 1}, done=1, is_mark=True)
        sent.append(1)
        yield Step(cursor={}, done=1)
        yield Step(cursor={}, done=2)

    HANDLERS["counting"] = Handler(steps=steps)
    job = shop.ask()
    looks = iter([False, True, True])
    shop.hand().work(lambda: next(looks))
    job.refresh_from_db()
    assert (job.status, job.cursor, sent) == ("queued", {}, [1])


def test_what_is_owed_after_the_end_is_done_by_whoever_lives_and_again_until_it_is(shop: Shop) -> None:  # fmt: skip
    answers: list[float] = [5.0, 0.0]
    HANDLERS["counting"] = Handler(steps=shop.count, after_end=lambda _job: answers.pop(0))
    job = shop.ask()
    assert do_after_end(never) == 0
    cancel_job(job.id, actor="olga")
    assert do_after_end(never) == 1
    assert do_after_end(never) == 0, "in five seconds"
    shop.sql("UPDATE jobs_job SET after_end_at = liyagent_now()")
    assert do_after_end(never) == 1
    assert (do_after_end(never), answers) == (0, [])


def test_what_is_owed_by_a_row_that_cannot_be_read_is_tried_for_a_day_and_then_told(shop: Shop) -> None:  # fmt: skip
    def stumble(job: Job) -> float:
        return float(job.cursor["marked_at"])

    HANDLERS["counting"] = Handler(steps=shop.count, after_end=stumble)
    job = shop.ask()
    cancel_job(job.id, actor="olga")
    assert do_after_end(never) == 1
    shop.sql("UPDATE jobs_job SET ended_at = ended_at - interval '2 days', after_end_at = liyagent_now()")  # fmt: skip
    assert do_after_end(never) == 1
    assert [it["reason"] for it in shop.audit("job.left_over")] == ["KeyError: 'marked_at'"]
    assert do_after_end(never) == 0


def test_the_shell_and_the_console_tell_what_a_job_that_goes_on_waits_for(shop: Shop) -> None:
    shop.again_in = 600.0
    job = shop.ask()
    shop.hand().work()
    job.refresh_from_db()
    assert (job.status, job.reason, why_of(job)) == ("queued", "", "number 1")
    out = StringIO()
    call_command("jobs", "list", stdout=out)
    assert re.search(r"queued +1 +3 +number 1$", out.getvalue(), re.MULTILINE)
    cancel_job(job.id, actor="olga")
    job.refresh_from_db()
    assert why_of(job) == job.reason == "cancelled by olga"
