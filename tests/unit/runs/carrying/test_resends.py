"""A keyed write is sent again: only inside the vendor's window, and only the tool's own word settles it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from liyagent.gateway.local import LOCAL_TOOLS, ToolFailed
from runs import scope
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR, Killed, die_after_effect, die_before_effect


def set_clock(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    """Let the scope's pauses pass at once, on a clock that they alone move."""
    pauses = SimpleNamespace(sleep=lambda seconds: clock.append(clock.pop() + seconds))
    monkeypatch.setattr(scope, "time", pauses)
    for module in ("runs.scope", "runs.hot", "runs.checkpoint"):
        monkeypatch.setattr(f"{module}.boottime", lambda: clock[0])


def lose_every_answer(_tool: str) -> None:
    raise TimeoutError("no answer")


def lose_the_answer_and_the_server(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def lose(_tool: str) -> None:
        monkeypatch.delitem(LOCAL_TOOLS, "v/keyed")
        raise TimeoutError("no answer")

    return lose


@pytest.mark.promise("CR-26")
def test_a_living_run_sends_a_keyed_write_again_only_inside_half_the_vendors_window(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("UPDATE gateway_tool SET key_window_seconds = 1 WHERE name = 'keyed'")
    clock = [0.0]
    set_clock(monkeypatch, clock)
    VENDOR.after_effect = lose_every_answer
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    assert world.process().carry().status == "answered"
    # At once, and not after the pause of half a second that leads to the next.
    assert world.vendor.received == ["keyed", "keyed"]
    assert (world.call(run, 1).fate, world.call(run, 1).settlement) == ("unknown", "told_unknown")


@pytest.mark.promise("CR-26")
def test_a_resend_that_waits_beyond_the_window_is_not_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    set_clock(monkeypatch, clock)
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    world.sql("UPDATE runs_call SET marked_at = marked_at - interval '43199 s'")
    VENDOR.after_effect = lose_every_answer
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["keyed", "keyed", "keyed"]
    assert world.call(run, 1).fate == "unknown"


@pytest.mark.promise("CR-22")
@pytest.mark.field("FL-05")
def test_a_resend_that_cannot_leave_says_nothing_of_the_first_sending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    VENDOR.after_effect = lose_the_answer_and_the_server(monkeypatch)
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    assert world.process().carry().status == "answered"
    assert len(world.vendor.of("keyed")) == 1
    assert world.call(run, 1).fate == "unknown"
    (told,) = world.model.results()
    assert "unknown" in told
    assert "Do not repeat it" in told


@pytest.mark.promise("CR-22")
def test_a_resume_whose_server_is_away_tells_unknown_and_never_that_it_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    monkeypatch.delitem(LOCAL_TOOLS, "v/keyed")
    assert world.process("second").carry().status == "answered"
    assert len(world.vendor.of("keyed")) == 1
    assert world.call(run, 1).fate == "unknown"


@pytest.mark.promise("CR-22")
def test_what_the_tool_itself_says_of_our_key_settles_it(world: World) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)

    def refuse(_tool: str) -> None:
        raise ToolFailed("there is no such project")

    VENDOR.before_effect = refuse
    assert world.process("second").carry().status == "answered"
    assert world.call(run, 1).fate == "failed"
    assert world.vendor.received == ["keyed", "keyed"]
    assert "no such project" in world.model.results()[0]


@pytest.mark.promise("CR-22")
@pytest.mark.parametrize("may_wait", [True, False])
def test_a_write_in_doubt_is_not_sent_again_beside_one_of_the_same_intent_that_nobody_knows_of(
    world: World, may_wait: bool
) -> None:
    """It is no new call that a person could be asked about: it was sent, and is told as unknown (rulings 8, 9)."""
    world.sql("UPDATE agents_agent SET may_wait = %s", may_wait)
    kin = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    assert world.process("before").carry().id == kin.id
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.sql(
        "UPDATE runs_call SET fate = 'unknown', correlation_id = %s WHERE run_id = %s",
        run.correlation_id,
        kin.id,
    )
    world.lapse(first)
    ended = world.process("second").carry()
    assert (ended.id, ended.status) == (run.id, "answered")
    assert world.vendor.received == ["keyed", "keyed"]
    assert world.call(run, 1).fate == "unknown"
    assert "unknown" in world.model.results()[0]
    assert world.sql("SELECT 1 FROM approvals_approval") == []
