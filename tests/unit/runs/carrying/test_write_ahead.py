"""What is stored by the time a call reaches its vendor, and what a resume goes on with (CR-09, EV-05, EV-07)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from events.chain import first_break
from events.models import EventHead
from liyagent.gateway.local import local_tool
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Payload
from liyagent.providers.types import Message, Role
from runs.checkpoint import load, open_checkpoint
from tests.unit.runs.carrying.conftest import World, calls, never, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

HISTORY = [{"role": "user", "text": "before-1"}, {"role": "assistant", "text": "before-2"}]


def two_steps() -> list[Any]:
    """A read, then a read and a write; each step with its tokens."""
    first = replace(calls(("v/look", {"n": 1}), text="I look"), input_tokens=100, output_tokens=7)
    second = replace(
        calls(("v/look", {"n": 2}), ("v/keyed", {"n": 3}), text="I write"),
        input_tokens=1000,
        output_tokens=70,
    )
    return [first, second, replace(says("done"), input_tokens=10_000, output_tokens=700)]


def words(messages: list[Message] | tuple[Message, ...]) -> list[tuple[Role, str]]:
    return [(it.role, it.text) for it in messages]


@pytest.mark.promise("CR-09")
def test_when_a_call_reaches_its_vendor_all_that_a_resume_needs_is_stored(world: World) -> None:
    """Asked on connections of their own, while the call is at the vendor."""
    steps = two_steps()
    run = world.start(*steps, history=HISTORY)
    seen: list[tuple[Any, ...]] = []

    def look(_tool: str) -> None:
        checkpoint = open_checkpoint(load(run.id, attempt=1, give_up=never), give_up=never)
        start, *parts = checkpoint.parts
        asked = [[call["args"] for call in part["calls"]] for part in parts]
        results = [len(part["results"]) for part in parts]
        counted = checkpoint.counters.values()
        seen.append((start["task"], start["history"], asked, results, counted, len(parts)))

    world.vendor.before_effect = look
    assert world.process().carry().status == "answered"
    kept = ("look after it", HISTORY)
    once = (*kept, [[{"n": 1}]], [0], (1, 1, 100, 7, 0), 1)
    twice = (*kept, [[{"n": 1}], [{"n": 2}, {"n": 3}]], [0, 1], (2, 3, 1100, 77, 0), 2)
    assert seen == [once, twice, twice]


@pytest.mark.promise("CR-09")
@pytest.mark.promise("CR-15")
def test_a_resume_goes_on_with_conversation_history_and_counters_as_they_were(
    world: World,
) -> None:
    def told_and_counted(*, dies: bool) -> tuple[Any, ...]:
        world.model.asked.clear()
        world.start(*two_steps(), history=HISTORY)
        if dies:
            first = world.process("first")
            die_before_effect("keyed")
            with pytest.raises(Killed):
                first.carry()
            world.prove_dead(first)
        ended = world.process("second").carry()
        assert ended.status == "answered"
        assert [it.steps_taken for it in world.model.asked] == [0, 1, 2]
        counters = (ended.model_steps, ended.calls_made, ended.input_tokens, ended.output_tokens)
        # The vendor's row of the write has a number and a key of its own in each run.
        return words(world.model.asked[-1].messages)[:-1], counters

    unhurt, resumed = told_and_counted(dies=False), told_and_counted(dies=True)
    assert unhurt == resumed
    assert unhurt[0][:3] == [
        (Role.USER, "before-1"),
        (Role.ASSISTANT, "before-2"),
        (Role.USER, "look after it"),
    ]
    assert unhurt[1] == (3, 3, 11_100, 777)


class Level(Enum):
    """How bad it is."""

    HIGH = "p1"


@local_tool("v/odd")
def odd(_payload: Payload) -> Any:
    """A write that answers with values that JSON does not have."""
    return {
        "at": datetime(2026, 10, 25, 2, 30, tzinfo=UTC),
        "day": date(2026, 10, 25),
        "cost": Decimal("10.10"),
        "id": UUID("018f4f2e-0000-7000-8000-000000000001"),
        "bytes": b"\x00\xff",
        "set": {"one"},
        "level": Level.HIGH,
        "load": math.nan,
        "text": "boot\x00ok \ud83d",
    }


@pytest.mark.field("FL-42")
@pytest.mark.field("FL-32")
@pytest.mark.field("FL-33")
@pytest.mark.field("FL-34")
def test_odd_values_are_after_a_resume_what_they_were_before(world: World) -> None:
    Tool.objects.create(server=ToolServer.objects.get(key="v"), name="odd")
    told = []
    for dies in (False, True):
        run = world.start(calls(("v/odd", {}), ("v/look", {})), says("done"))
        first = world.process("first")
        if dies:
            die_before_effect("look")
            with pytest.raises(Killed):
                first.carry()
            world.prove_dead(first)
        assert world.process("second").carry().status == "answered"
        events = [json.loads(it.content) for it in world.events(run) if it.kind == "tool.call"]
        told.append((world.model.results()[0], events[0]["result"]))
    (unhurt, in_event), resumed = told
    assert resumed == (unhurt, in_event)
    assert json.loads(unhurt) == in_event
    assert (in_event["cost"], in_event["text"]) == ("10.10", "boot\ufffdok \ufffd")


@pytest.mark.promise("EV-05")
@pytest.mark.field("FL-31")
def test_events_of_a_run_that_was_lost_twice_are_one_chain_without_a_gap(world: World) -> None:
    """Verified outside the database, as an auditor does it."""
    run = world.start(*two_steps())
    for name, die in (("first", die_before_effect), ("second", die_after_effect)):
        process = world.process(name)
        die("keyed")
        with pytest.raises(Killed):
            process.carry()
        world.prove_dead(process)
    assert world.process("third").carry().status == "answered"
    events = world.events(run)
    head = EventHead.objects.get(correlation_id=run.correlation_id)
    assert first_break(events, correlation_id=run.correlation_id, head=head) is None
    assert [it.number for it in events] == list(range(1, len(events) + 1))
    assert {it.correlation_id for it in events} == {run.correlation_id}
    told = [(it.kind, json.loads(it.content)) for it in events]
    assert [kind for kind, _ in told] == [
        "run.started", "step", "tool.call", "step", "run.resumed", "run.resumed",
        "tool.call", "tool.call", "step", "run.ended",
    ]  # fmt: skip
    assert [
        (it["attempt"], it["losses"], it["step"], it["holder"])
        for kind, it in told
        if kind == "run.resumed"
    ] == [(2, 1, 2, "second"), (3, 2, 2, "third")]


@pytest.mark.promise("EV-07")
def test_events_have_no_commit_of_their_own(world: World) -> None:
    """Each step's events and those of the calls before it come with the one write of the head."""
    world.sql("CREATE TABLE seen (what text, xid xid8)")
    world.sql(
        "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO seen VALUES (TG_TABLE_NAME, pg_current_xact_id()); RETURN NULL; END $$"
    )
    for what in ("INSERT ON events_runevent", "UPDATE ON runs_run"):
        world.sql(f"CREATE TRIGGER see AFTER {what} FOR EACH ROW EXECUTE FUNCTION see()")
    world.start(*[calls(("v/look", {"n": n}), ("v/look", {"m": n})) for n in range(5)], says("ok"))
    process = world.process()
    taken = process.take()
    world.sql("TRUNCATE seen")
    process.go_on(*taken[0])
    commits = "SELECT count(DISTINCT xid) FROM seen WHERE what = %s"
    told = "SELECT count(*) FROM seen WHERE what = 'events_runevent'"
    assert world.sql(commits, "events_runevent") == world.sql(commits, "runs_run") == [(6,)]
    assert world.sql(told) == [(1 + 6 + 10 + 1,)]


def test_a_run_that_was_lost_before_its_first_step_is_told_as_started_once(world: World) -> None:
    run = world.start(says("done"), task="look after it")
    first = world.process("first")
    first.take()
    world.lapse(first)
    second = world.process("second")
    second.drains = True
    assert second.carry().status == "queued"
    assert world.process("third").carry().status == "answered"
    kinds = [it.kind for it in world.events(run)]
    assert kinds == ["run.started", "run.resumed", "run.handed_over", "step", "run.ended"]
    assert "look after it" in world.events(run)[0].content
