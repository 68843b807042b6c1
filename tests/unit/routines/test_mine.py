"""Mining: what is suggested, what moves on, what stays as a person left it (RT-01, RT-07, FL-94)."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from liyagent.jobs.after_end import do_after_end
from liyagent.jobs.ask import find_job
from liyagent.jobs.end import cancel_job
from liyagent.jobs.models import Job
from liyagent.workflows.models import Workflow
from routines import jobs, scan, sightings
from routines import offer as offer_module
from routines.adopt import adopt_routine
from routines.ask import ask_mining
from routines.dismiss import dismiss_routine
from routines.mine import Mined, would_offer
from routines.models import Routine, RoutineState, Sighting
from routines.offer import Change, Offer
from tests.recorded_runs import AGENT, Made, Past
from tests.unit.approvals.deciding import approve, decided, let_decide
from tests.unit.routines.conftest import Mine, closed


@pytest.mark.promise("RT-01")
@pytest.mark.promise("RT-04")
def test_a_pattern_that_is_seen_often_enough_is_suggested(mine: Mine) -> None:
    runs = mine.past(map(closed, range(4)))
    rare = [Past(calls=(Made(tool="crm/note"),))] * 2
    mine.past(rare)
    job = mine.mine()
    routine = mine.only()
    assert (routine.state, routine.agent_key, routine.tools) == ("suggested", AGENT, ["crm/find", "crm/close"])  # fmt: skip
    assert sorted(routine.runs) == sorted(map(str, runs))
    assert (routine.support, routine.distinct_inputs, routine.withheld) == (4, 4, "")
    assert routine.digest == digest(routine.definition)
    first, second = [it for it in routine.definition["steps"] if it["type"] == "tool"]
    assert second["args"]["queue"] == "desk"
    assert "steps.s1.output.user.id" in str(second["args"]["id"])
    assert "input." in str(first["args"]["who"])
    assert routine.score["runs"] == routine.score["runs_matched"] == 4
    assert sorted(routine.tools_seen) == ["crm/close", "crm/find"]
    assert all(routine.tools_seen.values())
    assert (job.done, job.total) == (7, 7)
    assert job.result["routines"] == {"new": 1}
    assert (job.result["runs_looked_at"], job.result["runs_counted"], job.result["patterns"]) == (6, 6, 1)  # fmt: skip
    (told,) = mine.audit("suggested")
    assert (told["routine"], told["digest"], told["support"]) == (str(routine.id), routine.digest, 4)  # fmt: skip
    assert not Sighting.objects.exists()


@pytest.mark.promise("RT-01")
def test_how_often_is_a_setting(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.set_conf(routine_min_support=5)
    assert mine.mine().result["patterns"] == 0
    assert not Routine.objects.exists()
    mine.set_conf(routine_min_support=4)
    mine.mine()
    assert mine.only().support == 4


@pytest.mark.promise("RT-01")
def test_mined_again_nothing_is_suggested_twice(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    before = mine.only()
    assert mine.mine().result["routines"] == {"same": 1}
    after = mine.only()
    assert (after.id, after.digest, after.created_at, after.changed_at) == (before.id, before.digest, before.created_at, before.changed_at)  # fmt: skip
    assert after.mined_at > before.mined_at
    assert (len(mine.audit("suggested")), mine.audit("changed")) == (1, [])


@pytest.mark.promise("RT-01")
@pytest.mark.field("FL-94")
def test_a_suggestion_moves_on_with_its_runs(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    before = mine.only()
    mine.past([closed(9, queue="other")])
    assert mine.mine().result["routines"] == {"changed": 1}
    after = mine.only()
    assert (after.id, after.pattern, after.support) == (before.id, before.pattern, 5)
    assert after.digest != before.digest
    assert after.digest == digest(after.definition)
    assert after.changed_at > before.changed_at
    assert [(it["digest_before"], it["digest"]) for it in mine.audit("changed")] == [(before.digest, after.digest)]  # fmt: skip


@pytest.mark.field("FL-94")
@pytest.mark.promise("RT-05")
def test_a_dismissed_pattern_never_returns_though_its_runs_grow(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    dismiss_routine(routine_id=mine.only().id, actor="olga")
    before = mine.only()
    # One more run, and other literals: the pattern is the same.
    mine.past([closed(9, queue="other"), *map(closed, range(10, 14))])
    assert mine.mine().result["routines"] == {"left alone": 1}
    after = mine.only()
    assert (after.state, after.digest, after.mined_at) == (RoutineState.DISMISSED, before.digest, before.mined_at)  # fmt: skip
    assert len(mine.audit("suggested")) == 1


@pytest.mark.field("FL-94")
@pytest.mark.parametrize("state", ["adopted", "filed", "suspended"])
def test_what_is_adopted_is_left_alone_and_what_waits_moves_on(mine: Mine, state: str) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    Routine.objects.update(state=state)
    before = mine.only()
    mine.past([closed(9, queue="other")])
    mine.mine()
    after = mine.only()
    assert after.state == state
    assert (after.digest != before.digest) is (state != "adopted")


@pytest.mark.parametrize("change", [{"state": "dismissed"}, {"state": "adopted"}, {"digest": "0" * 64}, {"as_parameters": [{"place": "/s2/queue", "name": "queue"}]}], ids=["dismissed", "adopted", "moved", "made a parameter"])  # fmt: skip
def test_a_person_who_was_quicker_than_the_mining_wins(
    mine: Mine, change: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    mine.past([closed(9, queue="other")])
    job = ask_mining(AGENT, asked_by="olga").job
    as_it_was = mine.only()

    compile_it = offer_module.offer_of

    def offer_of(*args: Any) -> Offer:
        """Between the compiling and the keeping a person changes it."""
        offer = compile_it(*args)
        Routine.objects.update(**change)
        return offer

    monkeypatch.setattr(jobs, "offer_of", offer_of)
    mine.work()
    assert find_job(job.id).status == "done"
    after = mine.only()
    assert after.definition == as_it_was.definition
    assert mine.audit("changed") == []


def test_parameters_that_a_person_made_stay(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    Routine.objects.update(as_parameters=[{"place": "/s2/queue", "name": "which"}])
    mine.past([closed(9)])
    mine.mine()
    routine = mine.only()
    assert "which" in [it["name"] for it in routine.parameters]
    assert "desk" not in str(routine.definition)


def test_a_run_whose_record_is_broken_is_skipped_by_name_and_counted(mine: Mine) -> None:
    runs = mine.past(map(closed, range(5)))
    with psycopg.connect(mine.url, autocommit=True) as database:
        database.execute("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
        database.execute("UPDATE events_runevent SET content = replace(content, 'desk', 'none') WHERE run_id = %s", [runs[2]])  # fmt: skip
    result = mine.mine().result
    assert result["skipped"] == {"its record is broken": 1}
    assert list(result["skipped_runs"]) == [str(runs[2])]
    assert "(event " in result["skipped_runs"][str(runs[2])]
    assert str(runs[2]) not in mine.only().runs


def test_a_run_that_was_changed_since_the_pass_is_not_compiled_from(mine: Mine) -> None:
    runs = mine.past(map(closed, range(5)))
    job = ask_mining(AGENT, asked_by="olga").job
    mine.step()
    assert find_job(job.id).cursor["is_scanned"]
    with psycopg.connect(mine.url, autocommit=True) as database:
        database.execute("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
        database.execute("UPDATE events_runevent SET content = replace(content, 'desk', 'none') WHERE run_id = ANY(%s)", [runs[:2]])  # fmt: skip
    mine.work()
    assert sorted(mine.only().runs) == sorted(map(str, runs[2:]))
    with psycopg.connect(mine.url, autocommit=True) as database:
        database.execute("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
        database.execute("UPDATE events_runevent SET content = replace(content, 'desk', 'none') WHERE run_id = %s", [runs[2]])  # fmt: skip
    Routine.objects.all().delete()
    assert mine.mine().result["patterns"] == 0


@pytest.mark.promise("CR-06")
def test_a_mining_goes_on_from_its_cursor_and_sees_each_run_once(
    mine: Mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "ROWS_AT_ONCE", 3)
    mine.past(map(closed, range(10)))
    job = ask_mining(AGENT, asked_by="olga").job
    turns = 0
    while job.is_live:
        mine.step()
        job.refresh_from_db()
        turns += 1
    assert turns > 5
    assert (job.status, job.result["runs_counted"], mine.only().support) == ("done", 10, 10)
    assert len(mine.audit("suggested")) == 1


def test_what_a_cancelled_mining_saw_is_forgotten(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    job = ask_mining(AGENT, asked_by="olga").job
    mine.step()
    assert Sighting.objects.filter(job_id=job.id).exists()
    cancel_job(job.id, actor="olga")
    do_after_end(lambda: False)
    assert not Sighting.objects.exists()
    assert not Routine.objects.exists()


def test_of_many_runs_the_newest_are_compiled_from_and_all_are_counted(
    mine: Mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(sightings, "MOST_SOURCES", 6)
    monkeypatch.setattr(sightings, "ADD", sightings.ADD.replace(">= 200", ">= 6"))
    runs = mine.past(map(closed, range(15)))
    mine.mine()
    routine = mine.only()
    assert routine.support == 15
    assert sorted(routine.runs) == sorted(map(str, runs[-6:]))


@pytest.mark.promise("RT-07")
def test_queue_files_the_adoption_of_each_new_one_once(mine: Mine) -> None:
    mine.set_conf(routine_suggest="queue")
    mine.past(map(closed, range(4)))
    mine.mine()
    routine = mine.only()
    (request,) = Approval.objects.all()
    assert (routine.state, routine.approval_id, request.kind) == ("filed", request.id, "routine")
    assert len(mine.audit("adoption_requested")) == 1
    mine.mine()
    assert Approval.objects.count() == 1


@pytest.mark.promise("RT-07")
def test_list_files_none(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    assert not Approval.objects.exists()


@pytest.mark.promise("RT-07")
def test_one_that_is_not_offered_is_not_filed_and_says_why(mine: Mine) -> None:
    mine.set_conf(routine_suggest="queue")
    odd = Past(calls=(Made(tool="agents/triage", args={"task": "x", "y": 1}, effect="write"),))
    mine.past([odd] * 3)
    mine.mine()
    routine = mine.only()
    assert routine.withheld.endswith("asks an agent with something else than a task")
    assert (routine.state, routine.definition, routine.digest) == ("suggested", {}, "")
    assert not Approval.objects.exists()
    assert mine.audit("suggested")[0]["withheld"] == routine.withheld


@pytest.mark.promise("RT-01")
def test_a_dry_run_writes_nothing_and_finds_the_same(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mined = Mined()
    with CaptureQueriesContext(connection) as queries:
        (offer,) = would_offer(AGENT, mined)
    wrote = [it["sql"] for it in queries if it["sql"].lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))]  # fmt: skip
    assert wrote == []
    assert (offer.change, mined.counted) == (Change.NEW, 4)
    assert not Routine.objects.exists()
    assert not Job.objects.exists()
    mine.mine()
    assert offer.compiled is not None
    assert mine.only().digest == offer.compiled.digest


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
def test_what_was_mined_is_adopted_as_it_was_shown_and_not_once_its_runs_say_otherwise(
    mine: Mine,
) -> None:
    let_decide("olga")
    mine.set_conf(routine_suggest="queue")
    mine.past(map(closed, range(4)))
    mine.mine()
    shown = mine.only()
    request = Approval.objects.get()
    # The same pattern, compiled to other parameters.
    mine.past([closed(9, queue="other")])
    mine.mine()
    moved = mine.only()
    assert (moved.state, moved.approval_id) == (RoutineState.FILED, request.id)
    assert len(moved.parameters) > len(shown.parameters)
    with pytest.raises(LiyagentError) as refused:
        approve(request)
    assert refused.value.http_status == 409
    assert not Workflow.objects.exists()
    decided(request, ApprovalStatus.REJECTED)
    assert mine.only().state == RoutineState.SUGGESTED
    filed = adopt_routine(routine_id=moved.id, actor="rita")
    approve(filed.approval)
    adopted = mine.only()
    saved = Workflow.objects.get()
    assert (adopted.state, adopted.workflow_key) == (RoutineState.ADOPTED, saved.key)
    assert digest(saved.definition) == adopted.digest == moved.digest
    # Mined again, it is left alone.
    mine.past(map(closed, range(20, 24)))
    assert mine.mine().result["routines"] == {"left alone": 1}
