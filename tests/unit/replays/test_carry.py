"""A cohort is carried side by side and to its end, whoever dies, cancels or goes; each run is replayed once."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from liyagent.agents.definitions import definition_of, save_agent
from liyagent.agents.models import Agent
from liyagent.core.readiness import STATE
from liyagent.jobs import work
from liyagent.jobs.end import cancel_job
from liyagent.jobs.models import Job
from liyagent.leases.holding import end_holder
from liyagent.leases.own import OWN
from liyagent.replays import carry
from liyagent.replays.ask import ask_replay
from liyagent.replays.cancel import cancel_replay
from liyagent.replays.errors import ReplayEnded
from liyagent.replays.left import end_left
from liyagent.replays.models import CohortReplay, Replayed
from runs.models import Run
from tests.fakes.model_server import Turn
from tests.unit.jobs.conftest import Killed
from tests.unit.replays.cohorts import Body, Cohorts, cohorts, has_results, number_of
from tests.unit.replays.conftest import asks, replays, world
from tests.unit.runs.carrying.conftest import never

__all__ = ["cohorts", "replays", "world"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and beats are quick."""
    monkeypatch.setattr(carry, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.05)


def side_by_side(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, replay_parallel=number)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


def asked_of(cohorts: Cohorts) -> Counter[int]:
    """How many requests were made about each run."""
    return Counter(number_of(it) for it in cohorts.server.bodies)


def waiting(until: threading.Event, holds: Callable[[int], bool]) -> Callable[[Body], Turn | None]:
    """The model answers about these runs only once it may."""

    def before(body: Body) -> Turn | None:
        if holds(number_of(body)):
            until.wait(20)
        return None

    return before


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def do() -> None:
        work()
        connection.close()

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    return thread


@pytest.mark.promise("RP-05")
def test_a_cohort_is_replayed_and_comes_to_the_worst_of_its_runs(cohorts: Cohorts) -> None:
    runs = cohorts.record(3)
    cohorts.turns[1] = Turn(text="the disk is full")
    replay = cohorts.done()
    assert (replay.status, replay.verdict, replay.beyond_baseline) == ("done", "changed", "")
    verdicts = dict(Replayed.objects.values_list("run_id", "verdict"))
    assert verdicts == {runs[0].id: "same", runs[1].id: "changed", runs[2].id: "same"}
    job = Job.objects.get()
    assert (job.status, job.done, job.total) == ("done", 3, 3)
    assert (job.words, job.result) == ("3 of 3 replays: 1 changed, 2 same", {"changed": 1, "same": 2})  # fmt: skip
    assert asked_of(cohorts) == {-1: 1, 0: 2, 1: 2, 2: 2}
    row = cohorts.world.audit("agent.cohort_replay")[-1]
    assert (row["event"], row["verdict"], row["digest"]) == ("ended", "changed", replay.digest)


@pytest.mark.promise("RP-05")
def test_a_run_that_answered_and_does_not_any_more_is_a_regression(cohorts: Cohorts) -> None:
    cohorts.record(2)
    cohorts.turns[0] = Turn(text="", refusal="I will not")
    replay = cohorts.done()
    assert (replay.verdict, replay.summary["verdicts"]) == ("regressed", {"regressed": 1, "same": 1})  # fmt: skip


def test_as_many_run_side_by_side_as_there_may_be_and_the_next_begins_at_once(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """One slow run holds up no other: with a barrier, none of the last would have begun."""
    side_by_side(monkeypatch, 3)
    cohorts.record(7)
    together, others_done = threading.Barrier(3), threading.Event()

    def before(body: Body) -> Turn | None:
        # The newest begin first, three at once; the first of them answers last.
        if number_of(body) > 3 and not has_results(body):
            together.wait(10)
        if number_of(body) == 6:
            others_done.wait(10)
        return None

    cohorts.before = before
    replay = cohorts.ask()
    carrying = in_thread(cohorts.work)
    until = time.monotonic() + 15
    while Replayed.objects.count() < 6 and time.monotonic() < until:
        time.sleep(0.02)
    assert (Replayed.objects.count(), asked_of(cohorts)[6]) == (6, 1)
    others_done.set()
    carrying.join(timeout=15)
    replay.refresh_from_db()
    assert (replay.status, replay.verdict) == ("done", "same")


def test_the_baseline_is_the_unchanged_agent_beside_it(cohorts: Cohorts) -> None:
    """The unchanged agent's model answers as it did, so what the other does is more than noise."""
    (run,) = cohorts.record()
    cohorts.turns[0] = Turn(text="otherwise")
    replay = cohorts.done(baseline=2)
    assert (replay.verdict, replay.beyond_baseline) == ("changed", "changed")
    lanes = Replayed.objects.order_by("number").values_list("run_id", "lane", "number", "verdict")
    assert list(lanes) == [(run.id, 0, 0, "changed"), (run.id, 1, 1, "same"), (run.id, 2, 2, "same")]  # fmt: skip
    assert replay.summary["baseline_verdicts"] == {"same": 2}


@pytest.mark.promise("RP-01")
def test_what_cannot_be_replayed_is_skipped_with_its_reason(cohorts: Cohorts) -> None:
    runs = cohorts.record(4)
    Run.objects.filter(id=runs[0].id).update(recording="metadata")
    # As who owns the tables could.
    cohorts.world.sql("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
    cohorts.world.sql("UPDATE events_runevent SET content = replace(content, 'disk 1', 'disk 7')")
    replay = cohorts.done(runs=[str(it.id) for it in runs])
    told = {it["run"]: it["reason"] for it in replay.skipped}
    assert set(told) == {str(runs[0].id), str(runs[1].id)}
    assert told[str(runs[0].id)] == "it was recorded as metadata: its words are not kept"
    assert told[str(runs[1].id)].startswith("its record is not intact")
    assert (replay.verdict, replay.summary["replayed"], replay.summary["skipped"]) == ("same", 2, 2)
    assert Job.objects.get().done == 4


def test_nothing_to_replay_is_said_honestly(cohorts: Cohorts) -> None:
    Run.objects.filter(id=cohorts.record()[0].id).update(recording="metadata")
    replay = cohorts.done()
    assert (replay.status, replay.verdict, replay.runs) == ("done", "", [])
    assert (len(replay.skipped), replay.reason) == (1, "nothing could be replayed: each reason is listed")  # fmt: skip
    assert cohorts.server.requests == [], "no model is asked whether it is there"


def test_a_model_that_its_endpoint_does_not_know_fails_the_cohort_with_its_words(cohorts: Cohorts) -> None:  # fmt: skip
    cohorts.record(3)
    cohorts.before = lambda _body: Turn(status=404, text="The model `cheaper` does not exist")
    replay = cohorts.done()
    assert (replay.status, replay.verdict) == ("failed", "")
    assert "model cheaper of provider openai cannot be asked" in replay.reason
    assert "The model `cheaper` does not exist" in replay.reason
    assert not Replayed.objects.exists(), "no regression is counted"
    assert len(cohorts.server.requests) == 1
    assert cohorts.world.audit("agent.cohort_replay")[-1]["status"] == "failed"


def test_the_unchanged_agents_model_is_asked_too_where_there_is_a_baseline(cohorts: Cohorts) -> None:  # fmt: skip
    cohorts.record()
    cohorts.world.model.steps = []
    Agent.objects.filter(key="triage").update(provider="scripted", model="none-such")
    replay = cohorts.done(baseline=1)
    assert replay.status == "failed"
    assert "model none-such of provider scripted cannot be asked" in replay.reason


def test_an_endpoint_that_goes_away_fails_the_cohort_and_makes_no_verdict(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("runs.ask.MOST_TRIES", 1)
    side_by_side(monkeypatch, 1)
    cohorts.record(5)
    cohorts.before = lambda body: None if number_of(body) < 0 else Turn(status=503, text="down for now")  # fmt: skip
    replay = cohorts.done()
    assert (replay.status, replay.verdict, replay.digest) == ("failed", "", "")
    assert "the model does not answer" in replay.reason
    assert "down for now" in replay.reason
    assert Replayed.objects.count() == 2


def test_once_a_cap_is_reached_no_further_run_is_begun(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    side_by_side(monkeypatch, 8)
    runs = cohorts.record(5)
    replay = cohorts.done(most_calls=5)
    assert (replay.status, replay.verdict, replay.summary["replayed"]) == ("done", "same", 3)
    assert [it["run"] for it in replay.skipped] == [str(runs[1].id), str(runs[0].id)]
    assert {it["reason"] for it in replay.skipped} == {"the cap of model calls was reached before it was begun"}  # fmt: skip
    assert sum(asked_of(cohorts).values()) == 1 + 6
    side_by_side(monkeypatch, 1)
    tokens = cohorts.done(most_tokens=18 * 3)
    assert (tokens.summary["replayed"], len(tokens.skipped)) == (2, 3)
    assert tokens.skipped[0]["reason"] == "the cap of tokens was reached before it was begun"


@pytest.mark.promise("RP-06")
def test_a_cancelled_one_stops_within_two_seconds_and_gives_no_verdict(cohorts: Cohorts) -> None:
    cohorts.record(4)
    slow = threading.Event()
    cohorts.before = waiting(slow, lambda at: at >= 0)
    replay = cohorts.ask()
    carrying = in_thread(cohorts.work)
    until = time.monotonic() + 10
    while sum(asked_of(cohorts).values()) < 5 and time.monotonic() < until:
        time.sleep(0.02)
    began = time.monotonic()
    ended = cancel_replay(replay.id, actor="olga")
    assert (ended.status, ended.reason, ended.verdict) == ("cancelled", "cancelled by olga", "")
    carrying.join(timeout=2)
    assert (carrying.is_alive(), time.monotonic() - began < 2) == (False, True)
    assert Job.objects.get().status == "cancelled"
    slow.set()
    until = time.monotonic() + 15
    while threads_of_replays() and time.monotonic() < until:
        time.sleep(0.02)
    assert (threads_of_replays(), asked_of(cohorts)) == ([], {-1: 1, 0: 1, 1: 1, 2: 1, 3: 1})
    assert not Replayed.objects.exists()
    with pytest.raises(ReplayEnded, match="has ended as cancelled"):
        cancel_replay(str(replay.id), actor="olga")


def threads_of_replays() -> list[str]:
    return [it.name for it in threading.enumerate() if it.name == "cohort replay"]


def test_its_job_may_be_cancelled_as_any_other(cohorts: Cohorts) -> None:
    cohorts.record()
    replay = cohorts.ask()
    cancel_job(Job.objects.get().id, actor="olga")
    cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, replay.reason) == ("cancelled", "cancelled by olga")
    assert len(cohorts.world.audit("agent.cohort_replay")) == 2


@pytest.mark.parametrize("statement", ["UPDATE jobs_job SET after_end_at = NULL", "DELETE FROM jobs_job"])  # fmt: skip
def test_one_whose_job_ended_where_nobody_knows_of_it_is_ended_too(cohorts: Cohorts, statement: str) -> None:  # fmt: skip
    """By a process of the release before, which owes nothing after the end of this kind."""
    cohorts.record()
    replay, other = cohorts.ask(), cohorts.ask(strict=True)
    assert end_left(never) == 0
    assert replay.job_id is not None
    cancel_job(replay.job_id, actor="olga")
    assert end_left(never) == 0, "what is owed after its end is done by whoever does that"
    cohorts.world.sql(f"{statement} WHERE id = '{replay.job_id}'")
    assert (end_left(never), end_left(never)) == (1, 0)
    replay.refresh_from_db()
    is_kept = statement.startswith("UPDATE")
    assert replay.status == ("cancelled" if is_kept else "failed")
    assert replay.reason == ("cancelled by olga" if is_kept else "its job ended before it was done")
    assert cohorts.world.audit("agent.cohort_replay")[-1]["status"] == replay.status
    other.refresh_from_db()
    assert other.status == "queued"


def test_a_process_that_drains_hands_it_back_at_once_and_the_next_goes_on(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    side_by_side(monkeypatch, 2)
    cohorts.record(4)
    slow = threading.Event()
    cohorts.before = waiting(slow, lambda at: at in (0, 1))
    replay = cohorts.ask()
    carrying = in_thread(cohorts.work)
    until = time.monotonic() + 10
    while Replayed.objects.count() < 2 and time.monotonic() < until:
        time.sleep(0.02)
    began = time.monotonic()
    monkeypatch.setattr(STATE, "is_draining", True)
    carrying.join(timeout=2)
    assert (carrying.is_alive(), time.monotonic() - began < 2) == (False, True)
    job = Job.objects.get()
    assert (job.status, job.losses, Replayed.objects.count()) == ("queued", 0, 2)
    monkeypatch.setattr(STATE, "is_draining", False)
    slow.set()
    cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, replay.verdict, Replayed.objects.count()) == ("done", "same", 4)
    assert {it: asked_of(cohorts)[it] for it in (-1, 2, 3)} == {-1: 1, 2: 2, 3: 2}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_whoever_takes_over_from_a_dead_process_replays_what_has_no_result(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch, number: int) -> None:  # fmt: skip
    """It dies after so many results; each run has one, and the verdict is as without a death."""
    side_by_side(monkeypatch, 1)
    cohorts.record(4)
    cohorts.turns[1] = Turn(text="otherwise")
    replay = cohorts.ask()
    kept = work._keep

    def keep(job: Job, step: object) -> None:
        kept(job, step)  # type: ignore[arg-type]
        if Replayed.objects.count() == number:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(work, "_keep", keep)
        with pytest.raises(Killed):
            cohorts.work()
    assert OWN.holder is not None
    end_holder(OWN.holder)
    cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, replay.verdict, replay.summary["verdicts"]) == ("done", "changed", {"changed": 1, "same": 3})  # fmt: skip
    assert Counter(Replayed.objects.values_list("run_id", flat=True)) == {it.id: 1 for it in cohorts.runs}  # fmt: skip
    answered = {at: asked_of(cohorts)[at] for at in range(4)}
    assert sum(answered.values()) == 8, "what was kept is not asked again"
    assert asked_of(cohorts)[-1] == 1


def test_a_run_that_ends_its_processes_ends_the_cohort_and_not_all_of_them(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """As where it takes all memory: the third loss at one place is the last."""
    cohorts.record(1)
    replay = cohorts.ask()

    def keep(run: carry.Carrying, *_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(carry.Carrying, "_keep", keep)
        for _ in range(3):
            with pytest.raises(Killed):
                cohorts.work()
            assert OWN.holder is not None
            end_holder(OWN.holder)
        cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, replay.verdict) == ("failed", "")
    assert "its process was lost 3 times at the same step" in replay.reason
    assert asked_of(cohorts)[-1] == 1


def test_an_agent_that_was_saved_meanwhile_is_not_judged_by_a_mixture(cohorts: Cohorts) -> None:
    cohorts.record()
    replay = cohorts.ask()
    agent = Agent.objects.get(key="triage")
    save_agent({**definition_of(agent), "name": "Another"}, actor="t")
    cohorts.work()
    replay.refresh_from_db()
    assert replay.status == "failed"
    assert "stands at version 2" in replay.reason
    assert cohorts.server.requests == []


def test_who_asked_must_still_be_allowed_to_when_it_is_taken(cohorts: Cohorts) -> None:
    cohorts.record()
    User.objects.create_user("olga")
    replay = ask_replay(cohorts.wanted(), asked_by="olga").replay
    cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, replay.reason) == ("failed", "olga, who asked for it, no longer holds agents.operate")  # fmt: skip


def test_a_contained_agent_is_not_replayed(cohorts: Cohorts) -> None:
    cohorts.record()
    replay = cohorts.ask()
    Agent.objects.update(is_contained=True)
    cohorts.work()
    replay.refresh_from_db()
    assert (replay.status, "is contained" in replay.reason) == ("failed", True)


def test_what_nobody_expected_fails_it_and_says_so(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    cohorts.record()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("liyagent.replays.lane.compare", broken)
    replay = cohorts.done()
    assert (replay.status, replay.reason) == ("failed", "ZeroDivisionError: by zero")


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_a_thread_ends_the_cohort_alone(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:  # fmt: skip
    """Raised in the thread of a run it is no reason for the one that carries jobs to end."""
    cohorts.record()

    def over(*_: object, **__: object) -> None:
        raise error("enough")

    monkeypatch.setattr("liyagent.replays.lane.compare", over)
    replay = cohorts.done()
    assert (replay.status, replay.reason) == ("failed", f"a run could not be replayed: {error.__name__}: enough")  # fmt: skip


@pytest.mark.promise("RP-04")
def test_nothing_of_it_is_real(cohorts: Cohorts) -> None:
    """The vendor counts who connects (`replays` says nobody), and no table of what is real changes."""
    cohorts.record(2)
    cohorts.turns[0] = asks(("v/keyed", {"n": 1}))
    tables = ("runs_run", "runs_part", "runs_call", "events_runevent", "events_eventhead", "approvals_approval", "sagas_saga", "sagas_undo", "handoffs_version")  # fmt: skip
    before = [digest_of_table(cohorts, it) for it in tables]
    cohorts.before = lambda body: Turn(text="done") if len(body["messages"]) > 4 else None
    replay = cohorts.done(baseline=0)
    assert (replay.verdict, replay.summary["served"]["unserved"]) == ("changed", 1)
    assert [digest_of_table(cohorts, it) for it in tables] == before
    assert cohorts.world.vendor.received == ["look", "look"]


def digest_of_table(cohorts: Cohorts, name: str) -> str:
    ((found,),) = cohorts.world.sql(f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {name} t")  # fmt: skip
    return str(found)


def test_a_replay_that_is_done_is_not_begun_again(cohorts: Cohorts) -> None:
    """Its process died between the verdict and the end of the job."""
    cohorts.record()
    replay = cohorts.done()
    cohorts.world.sql("UPDATE jobs_job SET status = 'queued', ended_at = NULL")
    cohorts.work()
    assert Job.objects.get().status == "done"
    assert CohortReplay.objects.get().digest == replay.digest
    assert asked_of(cohorts) == {-1: 1, 0: 2}
