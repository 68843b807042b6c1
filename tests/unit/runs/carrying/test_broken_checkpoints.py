"""A checkpoint that is not what the run wrote fails the run and touches no vendor; a missing key only waits."""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Callable

import pytest
from pytest_django import Settings

from liyagent.core.seal import KeyMissing, SealBroken
from runs.models import Run
from runs.stop import stop_run
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

Spoil = Callable[[World, Run], None]


def tamper(world: World, run: Run) -> None:
    world.sql(
        "UPDATE runs_part SET sealed = set_byte(sealed, 40, 255 - get_byte(sealed, 40)) WHERE run_id = %s AND number = 1",
        run.id,
    )


def swap(world: World, run: Run) -> None:
    world.sql(
        "UPDATE runs_part SET number = number + 100 WHERE run_id = %s AND number IN (1, 2)", run.id
    )
    world.sql(
        "UPDATE runs_part SET number = CASE number WHEN 101 THEN 2 ELSE 1 END WHERE run_id = %s AND number > 100",
        run.id,
    )


def truncate(world: World, run: Run) -> None:
    world.sql("DELETE FROM runs_part WHERE run_id = %s AND number = 2", run.id)


def leave_a_hole(world: World, run: Run) -> None:
    world.sql("DELETE FROM runs_part WHERE run_id = %s AND number = 1", run.id)


def take_anothers(world: World, run: Run) -> None:
    world.sql(
        "UPDATE runs_part p SET sealed = o.sealed FROM runs_part o"
        " WHERE p.run_id = %s AND p.number = 0 AND o.run_id <> p.run_id AND o.number = 0",
        run.id,
    )


def change_the_counters(world: World, run: Run) -> None:
    world.sql("UPDATE runs_run SET model_steps = 1 WHERE id = %s", run.id)


def drop_the_seal(world: World, run: Run) -> None:
    world.sql("UPDATE runs_run SET seal = '' WHERE id = %s", run.id)


def drop_the_mark(world: World, run: Run) -> None:
    world.sql("DELETE FROM runs_call WHERE run_id = %s AND fate = ''", run.id)


def reopen_a_settled_mark(world: World, run: Run) -> None:
    world.sql("UPDATE runs_call SET fate = '' WHERE run_id = %s AND fate = 'done'", run.id)


SPOILS = [
    tamper,
    swap,
    truncate,
    leave_a_hole,
    take_anothers,
    change_the_counters,
    drop_the_seal,
    drop_the_mark,
    reopen_a_settled_mark,
]


def left_in_doubt(world: World) -> Run:
    """A run whose process died in its second step's write, its first step's write settled."""
    world.start(says("another run"), task="another")
    world.sql("UPDATE runs_run SET not_before = liyagent_now() + interval '1 day'")
    run = world.start(calls(("v/blind", {"n": 1})), calls(("v/blind", {"n": 2})), says("done"))
    first = world.process("first")
    world.vendor.before_effect = lambda _tool: die_before_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.vendor.received.clear()
    return run


@pytest.mark.promise("CR-16")
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_checkpoint_that_does_not_verify_fails_the_run(world: World, spoil: Spoil) -> None:
    run = left_in_doubt(world)
    spoil(world, run)
    ended = world.process("second").carry()
    assert ended.status == "failed"
    assert "does not verify" in ended.reason
    assert world.vendor.received == []
    assert len(world.model.asked) == 2
    assert world.events(run)[-1].kind == "run.ended"
    assert world.audit("agent.run.ended")[-1]["status"] == "failed"


@pytest.mark.promise("CR-16")
def test_a_checkpoint_left_as_it_was_goes_on(world: World) -> None:
    left_in_doubt(world)
    assert world.process("second").carry().status == "answered"


@pytest.mark.promise("CR-16")
def test_a_head_put_back_with_its_parts_is_found_by_the_event_log(world: World) -> None:
    run = world.start(calls(("v/look", {"n": 1})), calls(("v/look", {"n": 2})), says("done"))
    first = world.process("first")
    kept: list[tuple[object, ...]] = []

    def keep_the_head(_tool: str) -> None:
        if kept:
            raise Killed
        kept.extend(
            world.sql(
                "SELECT seal, sequence, model_steps, calls_made, parts FROM runs_run WHERE id = %s",
                run.id,
            )
        )

    world.vendor.before_effect = keep_the_head
    with pytest.raises(Killed):
        first.carry()
    world.vendor.before_effect = lambda _tool: None
    world.prove_dead(first)
    world.sql(
        "UPDATE runs_run SET seal = %s, sequence = %s, model_steps = %s, calls_made = %s, parts = %s, input_tokens = 0,"
        " output_tokens = 0 WHERE id = %s",
        *kept[0],
        run.id,
    )
    world.sql("DELETE FROM runs_part WHERE run_id = %s AND number = 2", run.id)
    ended = world.process("second").carry()
    assert ended.status == "failed"
    assert "put back" in ended.reason


@pytest.mark.field("FL-20")
@pytest.mark.promise("CR-18")
def test_one_bad_run_never_stops_the_others(world: World) -> None:
    first = world.process("first")
    runs = [world.start(calls(("v/look", {"n": 1})), says("done")) for _ in range(5)]
    for run_id, attempt in first.take():
        die_before_effect("look")
        with pytest.raises(Killed):
            first.go_on(run_id, attempt)
    world.sql("UPDATE runs_run SET seal = '' WHERE id = %s", runs[1].id)
    world.sql("UPDATE runs_run SET losses = 2 WHERE id = %s", runs[3].id)
    assert set(world.lapse(first)) == {run.id for run in runs}
    second = world.process("second")
    for run_id, attempt in second.take():
        second.go_on(run_id, attempt)
    ended = [Run.objects.get(id=run.id) for run in runs]
    assert [run.status for run in ended] == ["answered", "failed", "answered", "failed", "answered"]
    assert "does not verify" in ended[1].reason
    assert "lost 3 times" in ended[3].reason


def with_keys(settings: Settings, *keys: tuple[str, bytes]) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=keys)


@pytest.mark.field("FL-41")
def test_a_run_whose_key_is_missing_is_paused_and_goes_on_when_it_is_back(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    new = ("k2", os.urandom(32))
    run = world.start(calls(("v/look", {"n": 1})), says("done"))
    with_keys(settings, new)
    other = world.start(says("another answer"), task="another")
    second = world.process("second")
    world.sql("DELETE FROM leases_holder WHERE id <> %s", second.holder)
    assert world.sql("SELECT run, status FROM liyagent_pause_unreadable()") == [(run.id, "paused")]
    assert second.carry().id == other.id
    with pytest.raises(KeyMissing):
        read_transcript(Run.objects.get(id=run.id))
    with_keys(settings, new, old)
    third = world.process("third")
    assert world.sql("SELECT run, status FROM liyagent_pause_unreadable()") == [(run.id, "queued")]
    world.model.steps = [calls(("v/look", {"n": 1})), says("done")]
    assert third.carry().status == "answered"


@pytest.mark.field("FL-41")
def test_a_run_whose_key_is_gone_can_be_stopped(world: World, settings: Settings) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    with_keys(settings, ("k2", os.urandom(32)))
    second = world.process("second")
    pause = "SELECT run, status FROM liyagent_pause_unreadable()"
    assert world.sql(pause) == [(run.id, "paused")]
    stop_run(run_id=run.id, actor="olga", reason="its key is lost")
    assert world.sql(pause) == []
    ended = second.carry()
    assert (ended.status, ended.losses) == ("stopped", 0)
    assert ended.reason == "stopped by olga: its key is lost"
    assert world.vendor.received == []


@pytest.mark.field("FL-41")
def test_a_run_sealed_with_the_old_key_goes_on_where_the_new_one_is_first(
    world: World, settings: Settings
) -> None:
    """Its process died under the old key; whoever has both goes on, in either order, and its words stay readable."""
    old, new = settings.LIYAGENT.seal_keys[0], ("k2", os.urandom(32))
    for keys in ((new, old), (old, new)):
        run = left_in_doubt(world)
        with_keys(settings, *keys)
        ended = world.process("second").carry()
        assert (ended.id, ended.status) == (run.id, "answered")
        assert read_transcript(ended)["answer"] == "done"
        world.start(says("sealed with the newest"))
        assert world.process("second").carry().key_id == keys[0][0]
        with_keys(settings, old)


def test_nothing_of_the_words_is_stored_unsealed(world: World) -> None:
    secret = "xyzzy-" + base64.b32encode(os.urandom(10)).decode()
    world.sql("UPDATE agents_agent SET recording = 'metadata'")
    world.start(calls(("v/blind", {"n": secret}), text=secret), says(secret), task=secret)
    assert world.process("first").carry().status == "answered"
    for table in (
        "runs_run",
        "runs_part",
        "runs_call",
        "events_runevent",
        "audit_auditrow",
        "transcripts_transcript",
    ):
        rows = world.sql(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s", f"%{secret}%")
        assert rows == [], table
        hexed = secret.encode().hex()
        assert world.sql(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s", f"%{hexed}%") == [], (
            table
        )


@pytest.mark.promise("CR-16")
@pytest.mark.parametrize(
    "lost", ["= 0", "= 1", "= 2", ">= 0"], ids=["first", "middle", "last", "all"]
)
def test_the_transcript_of_an_ended_run_whose_parts_are_missing_is_told_as_broken(
    world: World, lost: str
) -> None:
    run = world.start(calls(("v/look", {"n": 1})), calls(("v/look", {"n": 2})), says("done"))
    assert world.process().carry().status == "answered"
    world.sql(f"DELETE FROM runs_part WHERE number {lost}")
    with pytest.raises(SealBroken):
        read_transcript(Run.objects.get(id=run.id))


def test_a_transcript_asked_for_while_its_run_ends_is_that_of_the_end(world: World) -> None:
    world.sql("UPDATE agents_agent SET recording = 'metadata'")
    run = world.start(says("done"))
    world.process().carry()
    world.sql("DELETE FROM transcripts_transcript")  # as it is seen just before the commit
    run.status = "running"
    assert read_transcript(run)["is_complete"]
