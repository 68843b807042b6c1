"""What can be replayed, and which runs are skipped, each with its reason (RP-01)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.buffer import EventBuffer
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.providers.types import ModelAnswer, ModelRequest
from liyagent.replays import recording as module
from liyagent.replays.recorded import Recording, Skipped
from liyagent.replays.recording import load_recording
from runs.models import Part, Run, RunStatus
from runs.stop import stop_run
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, let_decide
from tests.unit.events.scenes import (
    answered,
    approved,
    killed_and_resumed,
    unknown_and_settled_by_a_person,
    with_a_gap,
)
from tests.unit.replays.conftest import Replays
from tests.unit.runs.carrying.conftest import Model, World, calls, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands
from tests.unit.workflows.conftest import Works, tool, works

__all__ = ["cast", "works"]

TASK = "is the mail server up?"


def loaded(run: Run) -> Recording:
    found = load_recording(Run.objects.get(id=run.id))
    assert isinstance(found, Recording), found
    return found


def skipped(run: Run) -> str:
    found = load_recording(Run.objects.get(id=run.id))
    assert isinstance(found, Skipped), found
    assert found.run_id == run.id
    return found.reason


def untied(world: World) -> World:
    """Whoever owns the tables has their triggers off."""
    for table in ("runevent", "eventhead"):
        world.sql(f"ALTER TABLE events_{table} DISABLE TRIGGER ALL")
    return world


def alter(world: World, run: Run, kind: str, change: Callable[[Any], None]) -> None:
    """Change what an event tells, as whoever owns the table can."""
    ((number, text),) = world.sql(
        "SELECT number, content FROM events_runevent WHERE run_id = %s AND kind = %s"
        " ORDER BY number LIMIT 1",
        run.id,
        kind,
    )
    content = json.loads(text)
    change(content)
    untied(world).sql(
        "UPDATE events_runevent SET content = %s WHERE run_id = %s AND number = %s",
        json.dumps(content),
        run.id,
        number,
    )


@pytest.mark.promise("RP-01")
def test_a_recording_is_what_the_run_was_given_what_it_did_and_how_it_ended(
    replays: Replays,
) -> None:
    get_user_model().objects.create_superuser("ann", password="x")
    turns = [{"role": "user", "text": "hello"}, {"role": "assistant", "text": "hi"}]
    run = replays.record(
        replace(
            calls(("v/look", {"at": 1}), ("v/readable", {"n": 5})), input_tokens=7, output_tokens=3
        ),
        replace(says("it is up"), input_tokens=11, output_tokens=2),
        task=TASK,
        history=turns,
        mission="INC-4711",
        entry="api",
        started_by="ann",
    )
    found = loaded(run)
    assert (found.run_id, found.agent, found.task, found.history) == (
        run.id,
        "triage",
        TASK,
        turns,
    )
    assert (found.entry, found.mission, found.started_by) == ("api", "INC-4711", "ann")
    assert (found.status, found.error, found.answer) == ("answered", "", "it is up")
    assert [it.calls for it in found.steps] == [("v/look", "v/readable"), ()]
    assert (found.input_tokens, found.output_tokens) == (18, 5)
    look, readable = found.calls
    assert (look.name, look.args, look.result) == ("v/look", {"at": 1}, {"seen": {"at": 1}})
    assert (look.effect, look.fate, look.posture) == ("read", "done", "posture")
    # Our own key is no argument of the model's.
    assert (readable.name, readable.args) == ("v/readable", {"n": 5})
    assert readable.result["n"] == 5


@pytest.mark.parametrize(
    "scene", [answered, killed_and_resumed, approved, unknown_and_settled_by_a_person]
)
def test_runs_that_were_lost_held_or_in_doubt_can_be_replayed(
    world: World, scene: Callable[[World], Run]
) -> None:
    found = loaded(scene(world))
    assert found.answer == "done"
    assert found.calls[0].name in {"v/keyed", "v/blind"}


@pytest.mark.field("FL-90")
def test_what_went_wrong_then_is_recorded_as_it_was_told(world: World) -> None:
    (call,) = loaded(unknown_and_settled_by_a_person(world)).calls
    assert (call.fate, call.settlement) == ("unknown", "told_unknown")
    assert "unknown" in call.result


@pytest.mark.promise("RP-01")
@pytest.mark.parametrize(
    ("status", "reason"),
    [("queued", "it has not ended: it is queued"), ("waiting", "it has not ended: it is waiting")],
)
def test_a_run_that_has_not_ended_is_skipped(world: World, status: str, reason: str) -> None:
    run = world.start(calls(("v/look", {})), says("done"))
    if status == "waiting":
        world.sql("UPDATE agents_agent SET write_posture = 'hold', may_wait = true")
        world.model.steps = [calls(("v/blind", {})), says("done")]
        world.process().carry()
    assert skipped(run) == reason


@pytest.mark.promise("RP-01")
def test_a_run_recorded_as_metadata_is_skipped(world: World) -> None:
    Agent.objects.update(recording="metadata")
    assert skipped(answered(world)) == "it was recorded as metadata: its words are not kept"


@pytest.mark.promise("RP-01")
def test_a_run_with_a_gap_is_skipped(world: World) -> None:
    assert "its record is not complete: " in skipped(with_a_gap(world))
    assert "gap" in skipped(Run.objects.get())


@pytest.mark.promise("RP-01")
def test_a_run_of_which_nothing_was_recorded_is_skipped(
    world: World, settings: LazySettings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, run_events_enabled=False)
    run = answered(world)
    assert skipped(run).startswith("its record is not ")


@pytest.mark.promise("RP-01")
def test_a_record_that_was_changed_is_skipped_with_the_event_and_why(world: World) -> None:
    run = answered(world)
    alter(world, run, "tool.call", lambda told: told.update(result="another"))
    assert skipped(run) == (
        "its record is not intact: this event, or one before it, is not what was hashed when it was"
        " written (event 3, changed)"
    )


@pytest.mark.promise("RP-01")
@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("number = 3", "out_of_order"),
        ("number = (SELECT max(number) FROM events_runevent)", "cut_off"),
        ("true", "cut_off"),
    ],
)
def test_a_record_of_which_events_were_taken_is_skipped(
    world: World, where: str, reason: str
) -> None:
    run = answered(world)
    untied(world).sql(f"DELETE FROM events_runevent WHERE {where}")
    assert reason in skipped(run)


@pytest.mark.promise("RP-01")
def test_a_record_without_its_head_is_skipped(world: World) -> None:
    run = answered(world)
    untied(world).sql("DELETE FROM events_eventhead")
    assert "no_head" in skipped(run)
    world.sql("DELETE FROM events_runevent")
    assert "gone" in skipped(run)


@pytest.mark.promise("RP-01")
def test_a_record_that_was_purged_is_skipped(world: World) -> None:
    run = answered(world)
    untied(world).sql("DELETE FROM events_runevent")
    world.sql("DELETE FROM events_eventhead")
    world.sql("ALTER TABLE events_purgecertificate DISABLE TRIGGER ALL")
    world.sql(
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, at, kept_days, asked_by)"
        " VALUES (%s, 3, 'x', now(), 365, 'owner')",
        run.correlation_id,
    )
    assert skipped(run) == "its record was purged"


@pytest.mark.promise("RP-01")
@pytest.mark.field("FL-90")
@pytest.mark.parametrize(
    ("words", "name"), [({"seen": {"n": 2}}, "result"), ({"n": 2}, "args"), ("done", "text")]
)
def test_where_only_the_digest_of_words_was_kept_the_run_is_skipped_and_nothing_is_served(
    world: World, monkeypatch: pytest.MonkeyPatch, words: Any, name: str
) -> None:
    """As a release would record it that keeps large bodies as their digest: the chain is intact."""
    keep = EventBuffer.words
    monkeypatch.setattr(
        EventBuffer,
        "words",
        lambda buffer, value: buffer.digest(value) if value == words else keep(buffer, value),
    )
    run = answered(world)
    assert skipped(run).startswith(f"words of it are missing: the {name} of event ")


@pytest.mark.promise("RP-01")
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DELETE FROM runs_part", "what it was given is not kept any more"),
        ("UPDATE runs_part SET sealed = sealed || 'x'::bytea", "does not open"),
        ("UPDATE runs_run SET key_id = 'lost'", "the key lost that its words are sealed with is not"),
        ("UPDATE runs_run SET started_by = 'root'", "its row is not that of the run that was start"),
        ("UPDATE runs_run SET entry = 'cron'", "its row is not that of the run that was started"),
    ],
)  # fmt: skip
def test_a_run_whose_first_part_does_not_open_as_its_own_is_skipped(
    world: World, sql: str, reason: str
) -> None:
    run = answered(world)
    world.sql(sql)
    assert reason in skipped(run)


def test_the_first_part_of_another_run_is_not_taken_for_its_own(world: World) -> None:
    one, other = answered(world, task="one"), answered(world, task="two")
    part = Part.objects.get(run_id=other.id, number=0)
    world.sql(
        "UPDATE runs_part SET sealed = %s WHERE run_id = %s AND number = 0",
        bytes(part.sealed),
        one.id,
    )
    assert "does not open" in skipped(one)
    assert loaded(other).task == "two"


@pytest.mark.promise("RP-01")
def test_the_run_of_an_approved_call_is_skipped_and_the_run_that_asked_for_it_is_not(
    world: World,
) -> None:
    world.sql(HOLD_AND_GO_ON)
    let_decide("olga")
    run = world.start(calls(("v/blind", {"n": 1})), says("it waits"))
    world.process("a").carry()
    approve(Approval.objects.get())
    made = world.process("b").carry()
    assert skipped(made) == "it made a call that a person approved, and asked no model"
    (call,) = loaded(run).calls
    assert (call.fate, call.result[:5]) == ("held", "Held:")


@pytest.mark.promise("RP-01")
def test_runs_in_which_no_model_decides_and_parts_of_other_runs_are_skipped(
    works: Works, cast: Cast
) -> None:
    world = works.world
    of_workflow = works.start(tool("s1", "v/look", {"n": 1}))
    carry_all(world, name="w")
    assert skipped(of_workflow) == "it is a run of workflow work, which asks no model"
    undo = {"v/keyed": {"tool": "keyed", "args": {"undo_of": "{{ result.id }}"}}}
    Agent.objects.filter(key="triage").update(compensations=undo)
    cast.lists = {
        "triage": [calls(("v/keyed", {"n": 1})), hands("reader"), says("")],
        "reader": [says("all read")],
    }
    root = world.start()
    carry_all(world, name="a")
    assert loaded(root).status == "failed"
    child, undoing = Run.objects.filter(parent_id=root.id).order_by("created_at")
    assert (child.agent_key, undoing.loop) == ("reader", "undo:1")
    for it in (child, undoing):
        assert skipped(it).startswith("it is part of another run")


def test_a_run_that_could_not_be_opened_and_so_has_no_answer_can_be_replayed(world: World) -> None:
    run = world.start(says("done"))
    world.sql("UPDATE runs_run SET seal = seal || 'x'::bytea")
    assert world.process().carry().error == "checkpoint.broken"
    found = loaded(run)
    assert (found.status, found.answer, found.steps) == ("failed", "", [])


def test_a_stopped_run_can_be_replayed(world: World) -> None:
    run = world.start(says("done"))
    stop_run(run_id=run.id, actor="olga", reason="not now")
    ended = Run.objects.get(id=run.id)
    if not ended.is_ended:
        world.process().carry()
    found = loaded(run)
    assert (found.status, found.answer, found.calls) == (RunStatus.STOPPED, "", [])


def test_a_record_that_is_too_long_is_skipped_before_it_is_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(world)
    monkeypatch.setattr(module, "MOST_EVENTS", 2)
    assert "too long to be replayed" in skipped(run)
    monkeypatch.setattr(module, "MOST_EVENTS", 20_000)
    monkeypatch.setattr(module, "MOST_SIZE", 100)
    assert "too long to be replayed" in skipped(run)


def test_a_recording_is_read_in_as_many_statements_however_long_the_run_is(world: World) -> None:
    def statements(run: Run) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            loaded(run)
        return len(seen)

    short = answered(world)
    many = [calls(("v/look", {"n": number})) for number in range(30)]
    long = world.start(*many, says("done"))
    world.process().carry()
    assert statements(short) == statements(long) <= 12


def test_about_how_long_the_model_was_waited_for_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = world.model.ask

    def slowly(_model: Model, request: ModelRequest) -> ModelAnswer:
        time.sleep(0.1)
        return ask(request)

    monkeypatch.setattr(Model, "ask", slowly)
    run = answered(world)
    monkeypatch.undo()
    assert all(90 <= it.model_ms < 2000 for it in loaded(run).steps)
