"""Hooks around model steps and calls: they see, they refuse, and they change nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from liyagent.agents.hooks import HOOKS, About, Hook, HookRefused
from liyagent.agents.models import Agent
from runs.transcript import read_transcript
from sagas.models import Undo
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

LOOK, KEYED = ("v/look", {"n": 1}), ("v/keyed", {"n": 2})


@dataclass
class Watching(Hook):
    """Remembers each point, refuses at the one it is told to, and writes into what it is given."""

    refuses: str = ""
    breaks: str = ""
    seen: list[str] = field(default_factory=list)

    def _at(self, point: str, about: About, name: str) -> None:
        self.seen.append(f"{point} {name} after {about.step}".replace("  ", " "))
        if self.refuses in {point, f"{point} {name}"}:
            raise HookRefused("not today")
        if self.breaks == point:
            raise KeyError("oops")

    def before_model(self, about: About, request: Any) -> None:
        self._at("before_model", about, request.model)

    def after_model(self, about: About, answer: Any) -> None:
        self._at("after_model", about, "")

    def before_call(self, about: About, call: Any) -> None:
        call.args["n"] = "changed"
        self._at("before_call", about, call.name)

    def after_call(self, about: About, call: Any, outcome: Any) -> None:
        self._at("after_call", about, call.name)


@pytest.fixture
def watching(world: World, monkeypatch: pytest.MonkeyPatch) -> Watching:
    hook = Watching()
    monkeypatch.setitem(HOOKS, "watching", hook)
    Agent.objects.update(hooks=["watching"])
    return hook


def test_each_point_is_asked_in_its_turn(world: World, watching: Watching) -> None:
    world.start(calls(LOOK, KEYED), says("done"))
    assert world.process().carry().status == "answered"
    assert watching.seen == [
        "before_model list after 0",
        "after_model after 0",
        "before_call v/look after 1",
        "after_call v/look after 1",
        "before_call v/keyed after 1",
        "after_call v/keyed after 1",
        "before_model list after 1",
        "after_model after 1",
    ]


def test_what_a_hook_writes_into_what_it_is_given_changes_nothing(
    world: World, watching: Watching
) -> None:
    run = world.start(calls(KEYED), says("done"))
    world.process().carry()
    told = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert "changed" not in told[0]


def test_a_refused_call_is_not_made_and_the_model_is_told(world: World, watching: Watching) -> None:
    watching.refuses = "before_call v/keyed"
    run = world.start(calls(LOOK, KEYED), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["look"]
    assert "hook watching refused it: not today" in world.model.results()[1]
    told = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert '"fate":"refused"' in told[1]


@pytest.mark.parametrize(
    ("point", "received", "steps"),
    [("before_model", [], 0), ("after_model", [], 1), ("after_call", ["look"], 1)],
)
def test_a_hook_that_refuses_elsewhere_ends_the_run(
    world: World, watching: Watching, point: str, received: list[str], steps: int
) -> None:
    watching.refuses = point
    world.start(calls(LOOK, KEYED, text="secret plan"), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "hook.failed")
    assert ended.reason.startswith("hook watching refused, ")
    assert ended.reason.endswith(": not today")
    assert (world.vendor.received, ended.model_steps) == (received, steps)
    if point == "after_model":
        assert "secret plan" not in str(read_transcript(ended))


@pytest.mark.parametrize("point", ["before_model", "after_model", "before_call", "after_call"])
def test_a_hook_that_breaks_ends_the_run_and_says_where(
    world: World, watching: Watching, point: str
) -> None:
    watching.breaks = point
    world.start(calls(LOOK), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "hook.failed")
    said = point.replace("_", " the ")
    assert ended.reason == f"hook watching raised KeyError, {said}: 'oops'"


def test_a_hook_that_this_process_does_not_know_ends_the_run(world: World) -> None:
    Agent.objects.update(hooks=["gone"])
    world.start(says("done"))
    ended = world.process().carry()
    assert (ended.error, ended.reason) == (
        "hook.failed",
        "hook gone is not registered in the process that carries the run",
    )


@pytest.mark.promise("CR-14")
def test_a_call_that_is_routed_again_passes_its_hooks_again(
    world: World, watching: Watching
) -> None:
    world.start(calls(LOOK, KEYED), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    watching.refuses = "before_call v/keyed"
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["look", "look"]
    assert [it for it in watching.seen if it.startswith("before_call v/look")] == [
        "before_call v/look after 1",
        "before_call v/look after 1",
    ]


def test_the_log_has_a_line_for_each_call_and_no_words(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    Agent.objects.update(hooks=["log_calls"])
    world.start(calls(("v/look", {"n": "private"})), says("done"))
    with caplog.at_level(logging.INFO, logger="liyagent.agents.built_in_hooks"):
        world.process().carry()
    (line,) = [it.getMessage() for it in caplog.records if "v/look was done" in it.getMessage()]
    assert "of triage, step 1" in line
    assert "private" not in caplog.text


class Mute(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise TypeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("a\x00b"), "ValueError, after the call: a\ufffdb"),
        (HookRefused("a\x00b\ud800"), "refused, after the call: a\ufffdb\ufffd"),
        (ValueError("x" * 100_000), "ValueError, after the call: xxx"),
        (SystemExit(3), "SystemExit, after the call: 3"),
        (Mute(), "Mute, after the call: <exception str() failed>"),
    ],
    ids=["unstorable", "refused, unstorable", "long", "exit", "mute"],
)
def test_whatever_a_hook_raises_ends_the_run_at_once_and_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    class Raising(Hook):
        def after_call(self, about: About, call: Any, outcome: Any) -> None:
            raise error

    monkeypatch.setitem(HOOKS, "raising", Raising())
    Agent.objects.update(hooks=["raising"])
    world.start(calls(LOOK), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error, ended.losses) == ("failed", "hook.failed", 0)
    assert said in ended.reason
    assert len(ended.reason) < 3000


def test_a_refusal_before_a_call_that_cannot_be_stored_is_told_so_that_it_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(Hook):
        def before_call(self, about: About, call: Any) -> None:
            raise HookRefused("a\x00b\ud800")

    monkeypatch.setitem(HOOKS, "refusing", Refusing())
    Agent.objects.update(hooks=["refusing"])
    world.start(calls(LOOK), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == []
    assert "hook refusing refused it: a\ufffdb\ufffd" in world.model.results()[0]


@pytest.mark.field("FL-59")
@pytest.mark.parametrize(
    ("at", "fate"),
    [
        ({"breaks": "before_call"}, "failed"),
        ({"refuses": "before_call v/keyed"}, "failed"),
        ({"breaks": "after_call"}, "done"),
        ({"refuses": "after_call v/keyed"}, "done"),
    ],
    ids=["breaks_before", "refuses_before", "breaks_after", "refuses_after"],
)
def test_a_hook_at_an_undo_keeps_no_older_one_from_being_made(
    world: World, watching: Watching, at: dict[str, str], fate: str
) -> None:
    undo = {"tool": "keyed", "args": {"undo_of": "{{ result.id }}"}}
    Agent.objects.update(compensations={"v/keyed": undo})
    world.start(calls(("v/keyed", {"x": 1})), calls(("v/keyed", {"x": 2})), says(""))
    assert world.process().carry().status == "failed"
    vars(watching).update(at)
    world.process("undoer").carry()
    assert list(Undo.objects.values_list("fate", flat=True)) == [fate, fate]
