"""A workflow that waits holds no thread and no lease; what it waits for finds it, whoever carries it then."""

from __future__ import annotations

import time
from typing import Any

import pytest

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.workflows.errors import TooManySignals
from liyagent.workflows.models import Signal
from liyagent.workflows.signal import MOST_OPEN, send_signal
from runs import rest as rest_module
from runs import suspend
from runs.checkpoint import load
from runs.ending import HandedBack
from runs.errors import RunEnded
from runs.models import Call, Run
from runs.stop import stop_run
from sagas.models import Saga
from tests.unit.approvals.deciding import decided, let_decide, the_request
from tests.unit.runs.carrying.conftest import never
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.workflows.conftest import Works, tool

ASK = {"id": "ask", "type": "approve", "question": "Restart {{ input.host }}?"}
GO = {"id": "go", "type": "wait", "signal": "go", "timeout": 0.05}
UNDO = {"tool": "blind", "args": {"undo_of": "{{ steps.a.output.id }}"}}


def when_due(works: Works, run: Run) -> Run:
    """Carry a run that rests for a moment, once it is due; on a slow machine it may be so at once."""
    run = works.world.process().carry()
    while not run.is_ended:
        assert run.status == "queued"
        time.sleep(0.02)
        for taken in works.world.process("later").take():
            run = works.world.process("x").go_on(*taken)
    return run


def test_a_person_is_asked_once_and_the_run_goes_on_with_the_word(works: Works) -> None:
    let_decide("olga")
    run = works.start(
        ASK, tool("a", "keyed", {"by": "{{ steps.ask.output.approved_by }}"}), given={"host": "db1"}
    )
    works.world.process().carry()
    request = the_request()
    assert (request.server, request.tool, request.status) == ("workflow", "approve", "pending")
    assert "Restart db1?" in request.held_reason
    decided(request, ApprovalStatus.APPROVED)
    run = works.world.process("b").carry()
    assert (run.status, works.world.vendor.rows[0]["by"]) == ("answered", "olga")
    assert the_request().status == "consumed"
    assert Call.objects.filter(server="workflow").get().fate == "done"


def test_a_word_that_was_no_persons_is_asked_for_anew(works: Works) -> None:
    run = works.start(ASK, given={"host": "db1"})
    works.world.process().carry()
    works.world.sql(
        "UPDATE approvals_approval SET status = 'approved', decided_by = 'olga', decided_at = now()"
    )
    works.world.sql("UPDATE runs_run SET status = 'queued', wakes = wakes + 1")
    run = works.world.process("b").carry()
    assert run.status == "waiting"
    assert sorted(Approval.objects.values_list("status", flat=True)) == ["pending", "stale"]


@pytest.mark.promise("SG-05")
@pytest.mark.parametrize(
    ("on_stop", "status"), [("compensate", "compensating"), ("keep", "handed_off")]
)
def test_a_person_who_says_no_ends_it_and_what_it_did_is_undone_unless_kept(
    works: Works, on_stop: str, status: str
) -> None:
    let_decide("olga")
    run = works.start(
        tool("a", "blind", {"x": 1}, compensate=UNDO),
        ASK,
        given={"host": "db1"},
        on_failure={"on_stop": on_stop},
    )
    works.world.process().carry()
    decided(the_request(), ApprovalStatus.REJECTED, reason="not tonight")
    run = works.world.process("b").carry()
    assert (run.status, run.error) == ("failed", "approval.rejected")
    assert "olga rejected" in run.reason
    saga = Saga.objects.get(id=run.id)
    assert (saga.cause, saga.status) == ("rejected", status)


def test_a_signal_that_came_before_is_there_when_it_is_waited_for(works: Works) -> None:
    run = works.start(
        tool("a", "keyed", {"n": 1}),
        {**GO, "id": "first"},
        {**GO, "id": "second"},
        output=["{{ steps.first.output.payload }}", "{{ steps.second.output.payload }}"],
    )
    for number in (1, 2):
        send_signal(run_id=run.id, name="go", payload=number, actor="olga")
    run = works.world.process().carry()
    assert run.status == "answered"
    taken = Signal.objects.order_by("taken_by").values_list("taken_by", flat=True)
    assert list(taken) == [2, 3]
    with pytest.raises(RunEnded):
        send_signal(run_id=run.id, name="go", payload=1, actor="olga")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE workflows_signal SET name = 'go'",
        "UPDATE workflows_signal SET name = 'go', sent_by = 'boss'",
        "INSERT INTO workflows_signal (run_id, name, sealed, key_id, sent_by, created_at)"
        " SELECT run_id, 'go', sealed, key_id, sent_by, created_at FROM workflows_signal",
        "INSERT INTO workflows_signal (run_id, name, sealed, key_id, sent_by, created_at)"
        " SELECT run_id, 'go', '\\x00', key_id, 'olga', created_at FROM workflows_signal",
    ],
    ids=["renamed", "another_sender", "copied", "made_up"],
)
def test_a_signal_that_nobody_sent_so_fails_its_step(works: Works, edit: str) -> None:
    run = works.start(
        {**GO, "timeout": 60, "on_error": "end"}, tool("a", "keyed", {"by": "{{ steps.go.output.by }}"})
    )  # fmt: skip
    works.world.process().carry()
    send_signal(run_id=run.id, name="other", payload=1, actor="olga")
    works.world.sql(edit)
    works.world.sql("UPDATE runs_run SET status = 'queued', not_before = NULL")
    run = works.world.process("b").carry()
    assert works.world.vendor.rows == []
    assert (run.status, run.losses) == ("answered", 0)


def test_a_signal_that_is_put_back_is_not_taken_again(works: Works) -> None:
    go = {**GO, "timeout": 60}
    run = works.start(go, tool("a", "keyed", {"n": 1}), next_go := {**go, "id": "next"}, tool("b", "blind"))  # fmt: skip
    send_signal(run_id=run.id, name="go", payload=1, actor="olga")
    works.world.process().carry()
    works.world.sql("UPDATE workflows_signal SET taken_by = NULL")
    works.world.sql("UPDATE runs_run SET status = 'queued', not_before = NULL")
    run = works.world.process("b").carry()
    assert (run.status, len(works.world.vendor.rows)) == ("failed", 1)
    assert f"step {next_go['id']}" in run.reason
    assert "was taken before" in run.reason


def test_a_signal_that_does_not_come_in_time_fails_its_step(works: Works) -> None:
    run = works.start(
        {**GO, "on_error": "late"},
        {"id": "late", "type": "set", "values": {"x": "{{ steps.go.error }}"}},
        output="{{ vars.x }}",
    )
    assert when_due(works, run).status == "answered"


def test_no_more_than_a_hundred_signals_wait(works: Works) -> None:
    run = works.start(GO)
    for number in range(MOST_OPEN):
        send_signal(run_id=run.id, name="go", payload=number, actor="olga")
    with pytest.raises(TooManySignals):
        send_signal(run_id=run.id, name="go", payload=1, actor="olga")


@pytest.mark.parametrize("seconds", [0.05, 600])
def test_it_rests_until_a_time_and_a_signal_does_not_end_that(works: Works, seconds: float) -> None:
    run = works.start(
        {"id": "rest", "type": "wait", "seconds": seconds}, tool("a", "keyed", {"n": 1})
    )
    if seconds < 1:
        assert when_due(works, run).status == "answered"
        return
    run = works.world.process().carry()
    assert (run.status, run.not_before is None) == ("queued", False)
    assert works.world.process("c").take() == []
    send_signal(run_id=run.id, name="other", payload=1, actor="olga")
    assert works.world.process("b").carry().status == "queued"


@pytest.mark.parametrize(
    "waits", [ASK, {**GO, "timeout": 600}, {"id": "r", "type": "wait", "seconds": 600}]
)
def test_one_that_waits_can_be_stopped(works: Works, waits: dict[str, object]) -> None:
    run = works.start(waits, given={"host": "db1"})
    works.world.process().carry()
    stop_run(run_id=run.id, actor="olga", reason="wrong host")
    run = works.world.process("b").carry()
    assert run.status == "stopped"
    assert not Saga.objects.exists()


@pytest.mark.parametrize("statement", ["fork", "rest"])
def test_an_attempt_that_is_out_starts_no_branch_and_puts_nobody_to_rest(
    works: Works, statement: str
) -> None:
    """What a process that stalls asks once another has the run changes nothing."""
    both = {"id": "both", "type": "parallel", "branches": {"a": [tool("x", "look")]}}
    rests = {"id": "r", "type": "wait", "seconds": 600}
    run = works.start(both if statement == "fork" else rests)
    stale, other = works.world.process("stale"), works.world.process("other")
    ((run_id, attempt),) = stale.take()
    stored = load(run_id, attempt=attempt, give_up=never)
    works.world.lapse(stale)
    ((_, taken),) = other.take()
    works.world.sql("UPDATE runs_run SET sequence = 1 WHERE id = %s", run_id)
    values = (run_id, attempt, 2, bytes(stored.run.seal))
    if statement == "fork":
        rows = works.world.sql(
            "SELECT * FROM liyagent_fork(%s, %s, %s, %s, liyagent_config_version(), '[]', '{}', '{}', '{}', '{}')",
            *values,
        )
    else:
        rows = works.world.sql(
            "SELECT * FROM liyagent_pause(%s, %s, %s, %s, NULL, NULL, '{}', '{}')", *values
        )
    assert rows == []
    run = Run.objects.get(id=run.id)
    assert (run.status, run.attempt) == ("running", taken)


def test_one_that_is_stopped_as_it_goes_to_rest_is_up_at_once(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = works.start({"id": "r", "type": "wait", "seconds": 600})
    seen = suspend.pause

    def stop_first(*args: Any, **known: Any) -> HandedBack:
        stop_run(run_id=run.id, actor="olga", reason="wrong host")
        return seen(*args, **known)

    monkeypatch.setattr(rest_module, "pause", stop_first)
    run = works.world.process().carry()
    assert (run.status, run.not_before) == ("queued", None)
    assert works.world.process("b").carry().status == "stopped"


def test_a_signal_ends_a_wait_that_has_a_time_too(works: Works) -> None:
    run = works.start({**GO, "timeout": 600}, output="{{ steps.go.output.payload }}")
    run = works.world.process().carry()
    assert (run.status, run.not_before is None) == ("queued", False)
    send_signal(run_id=run.id, name="go", payload="now", actor="olga")
    assert works.world.process("b").carry().status == "answered"


def test_who_dies_between_the_word_and_its_step_asks_nobody_twice(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_decide("olga")
    works.start(ASK, given={"host": "db1"})
    works.world.process().carry()
    decided(the_request(), ApprovalStatus.APPROVED)
    first = works.world.process("first")

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("runs.scope.RunScope.settle", die)
        with pytest.raises(Killed):
            first.carry()
    assert the_request().status == "consumed"
    works.world.lapse(first)
    assert works.world.process("second").carry().status == "answered"
    assert Approval.objects.count() == 1


def test_branches_all_end_before_their_family_does(works: Works) -> None:
    works.start(
        {
            "id": "both",
            "type": "parallel",
            "branches": {
                "waits": [{**GO, "timeout": 600}],
                "writes": [tool("a", "blind", {"x": 1}, compensate=UNDO)],
            },
        }
    )
    process = works.world.process()
    run = process.carry()
    for taken in process.take():
        process.go_on(*taken)
    assert Run.objects.get(id=run.id).status in {"waiting", "queued"}
    stop_run(run_id=run.id, actor="olga", reason="wrong host")
    ended = []
    for number in range(6):
        # The root first, each time: those below it are made after it.
        for taken in sorted(works.world.process(f"p{number}").take()):
            done = process.go_on(*taken)
            if done.is_ended:
                ended.append(done.loop == "root")
    assert ended.count(True) == 1
    assert ended.index(True) >= 1
    assert Run.objects.get(id=run.id).status == "stopped"
    saga = Saga.objects.get(id=run.id)
    assert (saga.cause, saga.registered) == ("stopped", 1)
    assert [it.get("undo_of") for it in works.world.vendor.rows] == [None, 1]
