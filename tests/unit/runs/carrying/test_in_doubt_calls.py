"""A process dies inside a call: what the next one does with it, judged from the vendor's ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import Process, World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

Die = Callable[[str], None]


def die_within(
    world: World, die: Die, tool: str, args: dict[str, Any] | None = None
) -> tuple[Any, Process]:
    """Start a run with one call of `tool` and let its first process die inside it."""
    run = world.start(calls((f"v/{tool}", args or {"n": 1})), says("done"))
    first = world.process("first")
    die(tool)
    with pytest.raises(Killed):
        first.carry()
    return run, first


@pytest.mark.promise("CR-20")
@pytest.mark.promise("CR-15")
def test_a_read_in_doubt_is_made_again_and_the_model_is_not(world: World) -> None:
    run, first = die_within(world, die_before_effect, "look")
    assert world.lapse(first) == [run.id]
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["look", "look"]
    assert [it.steps_taken for it in world.model.asked] == [0, 1]


@pytest.mark.promise("CR-22")
@pytest.mark.promise("CR-26")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
def test_a_keyed_write_in_doubt_is_sent_again_with_its_key_and_applied_once(
    world: World, die: Die
) -> None:
    run, first = die_within(world, die, "keyed")
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert len(world.vendor.of("keyed")) == 1
    assert world.vendor.of("keyed")[0]["key"] == world.call(run, 1).step_key
    assert (world.call(run, 1).fate, world.call(run, 1).settlement) == (
        "done",
        "sent_with_same_key",
    )
    (settled,) = world.audit("agent.call.settled")
    assert (settled["settlement"], settled["fate"]) == ("sent_with_same_key", "done")


@pytest.mark.promise("CR-24")
def test_a_readable_write_that_happened_is_found_by_its_key_and_not_sent_again(
    world: World,
) -> None:
    run, first = die_within(world, die_after_effect, "readable")
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["readable", "find"]
    assert (world.call(run, 1).fate, world.call(run, 1).settlement) == ("done", "read_back")
    assert world.vendor.of("readable")[0]["client_key"] in world.model.results()[0]
    (settled,) = world.audit("agent.call.settled")
    assert (settled["settlement"], settled["fate"]) == ("read_back", "done")


@pytest.mark.promise("CR-24")
@pytest.mark.field("FL-11")
def test_a_readable_write_that_is_not_found_is_unknown_and_never_asked_again(world: World) -> None:
    run, first = die_within(world, die_before_effect, "readable")
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["readable", "find"]
    assert world.vendor.rows == []
    call = world.call(run, 1)
    assert (call.fate, call.settlement) == ("unknown", "read_back")
    assert call.late_look_at is not None


@pytest.mark.promise("CR-24")
@pytest.mark.promise("CR-26")
@pytest.mark.field("FL-05")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
def test_a_blind_write_in_doubt_is_told_as_unknown_and_not_sent_again(
    world: World, die: Die
) -> None:
    run, first = die_within(world, die, "blind")
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["blind"]
    (told,) = world.model.results()
    assert "unknown" in told
    assert "not sent again" in told
    assert "failed" not in told
    assert "not done" not in told
    assert world.call(run, 1).fate == "unknown"
    (settled,) = world.audit("agent.call.settled")
    assert settled["settlement"] == "told_unknown"
    (resumed,) = world.audit("agent.run.crash_resumed")
    assert resumed["calls"] == [{"index": 0, "call": "v/blind", "settlement": "told_unknown"}]


@pytest.mark.promise("CR-22")
@pytest.mark.field("FL-08")
def test_a_field_that_looks_like_a_key_makes_no_write_one_to_be_sent_again(world: World) -> None:
    run, first = die_within(
        world, die_after_effect, "blind", {"n": 1, "idempotency_key": "k-1", "client_key": "k-1"}
    )
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["blind"]
    assert world.vendor.rows[0]["idempotency_key"] == "k-1"
    assert world.call(run, 1).settlement == "told_unknown"


@pytest.mark.promise("CR-26")
def test_a_short_vendor_window_is_settled_and_not_sent_again(world: World) -> None:
    world.sql("UPDATE gateway_tool SET key_window_seconds = 300 WHERE name = 'keyed'")
    run, first = die_within(world, die_after_effect, "keyed")
    world.sql(
        "UPDATE runs_call SET marked_at = marked_at - interval '151 s' WHERE run_id = %s", run.id
    )
    world.lapse(first)
    world.process("second").carry()
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).settlement == "told_unknown"


@pytest.mark.promise("CR-30")
@pytest.mark.field("FL-44")
@pytest.mark.parametrize("name", ["call_0", "0", "functions.keyed:0", "keyed", "call_00", ""])
def test_a_positional_id_is_no_identity_so_a_keyed_write_is_not_sent_again(
    world: World, name: str
) -> None:
    run = world.start(calls(("v/keyed", {"n": 1}), ids=[name]), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).step_key.startswith("fresh-")


@pytest.mark.promise("CR-30")
@pytest.mark.field("FL-44")
@pytest.mark.parametrize("name", ["call_0", "0", "keyed"])
def test_positions_that_begin_anew_each_step_are_not_taken_for_one_call(
    world: World, name: str
) -> None:
    """A vendor that dedupes on the key would swallow the second write."""
    same = [calls(("v/keyed", {"n": 1}), ids=[name]) for _ in range(2)]
    for _ in ("one run", "another run"):
        world.start(*same, says("done"))
        assert world.process().carry().status == "answered"
    assert len({it["key"] for it in world.vendor.of("keyed")}) == 4


@pytest.mark.promise("CR-30")
@pytest.mark.field("FL-44")
def test_an_id_that_two_calls_of_a_step_share_names_neither(world: World) -> None:
    shared = ["toolu_9f3KqLm2", "toolu_9f3KqLm2"]
    run = world.start(calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2}), ids=shared), says("done"))
    first = world.process("first")
    world.vendor.after_effect = lambda _tool: die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert [it["n"] for it in world.vendor.of("keyed")] == [1, 2]
    assert world.vendor.received == ["keyed", "keyed"]
    assert world.call(run, 1, 1).settlement == "told_unknown"
    kept, unknown = world.model.results()
    assert '"n":1' in kept
    assert "unknown" in unknown


@pytest.mark.promise("CR-25")
def test_a_call_marked_as_a_write_stays_one_when_its_tool_is_called_a_read(world: World) -> None:
    run, first = die_within(world, die_after_effect, "blind")
    world.sql("UPDATE gateway_tool SET effect = 'read' WHERE name = 'blind'")
    world.lapse(first)
    world.process("second").carry()
    assert world.vendor.received == ["blind"]
    assert world.call(run, 1).fate == "unknown"


@pytest.mark.promise("CR-14")
def test_a_marked_call_that_the_gates_now_refuse_is_neither_sent_nor_routed(world: World) -> None:
    run, first = die_within(world, die_before_effect, "keyed")
    world.sql("UPDATE agents_agent SET write_posture = 'refuse'")
    world.lapse(first)
    world.process("second").carry()
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"


@pytest.mark.promise("CR-14")
@pytest.mark.field("FL-47")
def test_a_call_never_begun_passes_the_gates_as_they_stand_now(world: World) -> None:
    run = world.start(calls(("v/look", {}), ("v/blind", {"n": 2})), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.sql("UPDATE agents_agent SET tool_patterns = '[\"v/blind\"]'")
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["look", "blind"]
    assert "v/look" in world.model.results()[0]
    assert not world.sql("SELECT 1 FROM runs_call WHERE run_id = %s AND tool = 'look'", run.id)
    (refused, _) = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert '"fate":"refused"' in refused


@pytest.mark.field("FL-40")
def test_every_outcome_that_was_kept_is_opened_for_the_model(world: World) -> None:
    tools = ("keyed", "readable", "blind")
    asked = [*((f"v/{tool}", {"n": n}) for n, tool in enumerate(tools)), ("v/look", {})]
    world.start(calls(*asked), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == [*tools, "look", "look"]
    *kept, fresh = (json.loads(it) for it in world.model.results())
    assert kept == world.vendor.rows
    assert fresh == {"seen": {}}


@pytest.mark.field("FL-49")
def test_a_resumed_request_has_one_result_a_call_in_order(world: World) -> None:
    three = calls(
        ("v/keyed", {"n": 1}), ("v/blind", {"n": 2}), ("v/readable", {"n": 3}), ("v/nope", {})
    )
    run = world.start(three, says("done"))
    first = world.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "answered"
    assert world.vendor.received == ["keyed", "blind", "readable"]
    kept, unknown, fresh, refused = world.model.results()
    assert '"tool":"keyed"' in kept
    assert "unknown" in unknown
    assert '"tool":"readable"' in fresh
    assert "no tool v/nope" in refused
    assert [it["settlement"] for it in world.audit("agent.run.crash_resumed")[0]["calls"]] == [
        "kept",
        "told_unknown",
        "routed",
        "routed",
    ]
    assert world.call(run, 1, 0).settlement == "answered"


@pytest.mark.promise("CR-19")
def test_a_resume_is_audited_with_its_step_losses_and_settlements(world: World) -> None:
    run, first = die_within(world, die_after_effect, "readable")
    world.prove_dead(first)
    world.process("second").carry()
    (row,) = world.audit("agent.run.crash_resumed")
    assert (row["step"], row["losses"], row["cause"], row["holder"]) == (1, 1, "proof", "second")
    assert row["calls"] == [{"index": 0, "call": "v/readable", "settlement": "read_back"}]
    kinds = [it.kind for it in world.events(run)]
    assert kinds == ["run.started", "step", "run.resumed", "tool.call", "step", "run.ended"]


@pytest.mark.promise("CR-24")
def test_a_read_back_waits_without_a_thread_until_no_straggler_can_send(world: World) -> None:
    run, first = die_within(world, die_after_effect, "readable")
    world.lapse(first)
    second = world.process("second")
    waiting = second.carry()
    assert (waiting.status, waiting.holder) == ("queued", None)
    assert waiting.not_before == waiting.settle_after == world.call(run, 1).deadline
    assert second.take() == []
    assert world.vendor.received == ["readable"]
    world.sql(
        "UPDATE runs_run SET not_before = liyagent_now(), settle_after = liyagent_now() - interval '1 s'"
    )
    ended = second.carry()
    assert (ended.status, ended.losses) == ("answered", 1)
    assert world.vendor.received == ["readable", "find"]
    assert len(world.audit("agent.run.crash_resumed")) == 1


@pytest.mark.field("FL-31")
def test_each_attempt_is_visible_in_the_history(world: World) -> None:
    world.start(calls(("v/look", {})), calls(("v/look", {"again": 1})), says("done"))
    for name in ("first", "second"):
        process = world.process(name)
        die_before_effect("look")
        with pytest.raises(Killed):
            process.carry()
        world.prove_dead(process)
    ended = world.process("third").carry()
    assert (ended.status, ended.losses, ended.attempt) == ("answered", 2, 3)
    rows = world.audit("agent.run.crash_resumed")
    assert [(it["attempt"], it["losses"], it["holder"]) for it in rows] == [
        (2, 1, "second"),
        (3, 2, "third"),
    ]


@pytest.mark.promise("CR-18")
def test_a_run_lost_more_than_twice_is_failed_with_the_reason_and_sends_nothing(
    world: World,
) -> None:
    run, first = die_within(world, die_after_effect, "blind")
    world.sql("UPDATE runs_run SET losses = 2 WHERE id = %s", run.id)
    world.lapse(first)
    ended = world.process("second").carry()
    assert ended.status == "failed"
    assert "lost 3 times" in ended.reason
    told = read_transcript(ended)
    assert (told["reason"], told["is_complete"]) == (ended.reason, True)
    assert world.sql("SELECT run_id FROM transcripts_transcript") == [(run.id,)]
    assert world.vendor.received == ["blind"]
    call = world.call(run, 1)
    assert (call.fate, call.settlement) == ("unknown", "run_ended")
    assert call.late_look_at is not None
