"""A run is replayed through the agent as it stands: the same guardrails, policies, caps and hooks as any run (RP-02)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction

from liyagent.agents.hooks import HOOKS, About, Hook, HookRefused
from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.gateway.models import Policy, Tool
from liyagent.replays.budget import Budget
from liyagent.replays.diff import compare
from liyagent.replays.made import ReplayedRun
from liyagent.replays.recorded import Recording
from liyagent.replays.replay import ReplayUnwanted, replay_run
from tests.fakes.model_server import ModelServer, Turn
from tests.unit.replays.conftest import Replays, asks
from tests.unit.runs.carrying.conftest import PERMIT, World, calls, never, says

LOOK, KEYED = ("v/look", {"n": 1}), ("v/keyed", {"n": 2})
DONE = Turn(text="done")
MAIL = {"kind": "personal_data", "what": ["email"], "action": "mask"}
NO_KEYS = {"kind": "pattern", "name": "no-keys", "pattern": "AKIA[0-9]{4}", "action": "refuse"}


def told(replayed: ReplayedRun) -> list[tuple[str, str, str]]:
    return [(it.name, it.how.value, it.fate) for it in replayed.calls]


def ending(replayed: ReplayedRun) -> tuple[str, str]:
    return replayed.status, replayed.error


def traces(world: World) -> list[Any]:
    """All that a guardrail, a hook or a gate could have left."""
    return world.sql(
        "SELECT (SELECT count(*) FROM audit_auditrow), (SELECT count(*) FROM events_runevent),"
        " (SELECT count(*) FROM approvals_approval), (SELECT count(*) FROM runs_run)"
    )


@pytest.fixture
def recording(replays: Replays) -> Recording:
    """A run that looked, wrote and answered."""
    return replays.recorded(calls(LOOK, KEYED), says("all is well"), task="mail ada@b.io")


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-03")
def test_a_run_is_replayed_under_another_model_with_every_call_answered_from_its_record(
    replays: Replays, recording: Recording
) -> None:
    found = replays.replay(
        recording, asks(("v/look", {"n": 1.0}), KEYED), Turn(text="all is  well")
    )
    assert (ending(found), found.answer) == (("answered", ""), "all is  well")
    assert told(found) == [("v/look", "exact", "done"), ("v/keyed", "exact", "done")]
    assert [it.result for it in found.calls] == [it.result for it in recording.calls]
    assert compare(recording, found).verdict == "same"
    assert replays.world.vendor.received == ["look", "keyed"]
    assert [it["model"] for it in replays.asked] == ["cheaper", "cheaper"]
    assert (found.input_tokens, found.output_tokens) == (22, 14)
    assert [(it.number, it.text, it.calls) for it in found.steps] == [
        (1, "", ("v/look", "v/keyed")),
        (2, "all is  well", ()),
    ]
    assert (replays.budget.calls, replays.budget.tokens) == (2, 36)


@pytest.mark.promise("RP-02")
def test_the_model_is_given_what_the_run_was_under_the_instructions_of_the_override(
    replays: Replays,
) -> None:
    turns = [{"role": "user", "text": "hello"}, {"role": "assistant", "text": "hi"}]
    recording = replays.recorded(says("done"), task="look after it", history=turns)
    replays.replay(recording, DONE, override={"instructions": "Be short."})
    (asked,) = replays.asked
    assert [(it["role"], it["content"]) for it in asked["messages"]] == [
        ("system", "Be short."),
        ("user", "hello"),
        ("assistant", "hi"),
        ("user", "look after it"),
    ]
    assert len(asked["tools"]) == Tool.objects.count()


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-04")
@pytest.mark.parametrize("direction", ["input", "output"])
def test_a_guardrail_that_refuses_ends_the_replay_and_leaves_no_trace(
    replays: Replays, recording: Recording, direction: str
) -> None:
    no_mail = {"kind": "pattern", "name": "no-mail", "pattern": "ada@|AKIA", "action": "refuse"}
    Agent.objects.update(guardrails={direction: [no_mail]})
    before = traces(replays.world)
    found = replays.replay(recording, Turn(text="use AKIA1234"))
    assert ending(found) == ("failed", f"guardrail.{direction}")
    assert len(replays.asked) == (1 if direction == "output" else 0)
    assert found.guardrails == [f"guardrail pattern no-mail of its {direction}: refuse"]
    assert "AKIA" not in repr(found)
    assert traces(replays.world) == before
    assert compare(recording, found).verdict == "regressed"


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-04")
def test_a_guardrail_that_masks_does_so_in_a_replay_and_leaves_no_trace(
    replays: Replays, recording: Recording
) -> None:
    Agent.objects.update(guardrails={"input": [MAIL], "output": [MAIL]})
    before = traces(replays.world)
    found = replays.replay(recording, Turn(text="I mailed bob@b.io"))
    assert replays.asked[0]["messages"][-1]["content"] == "mail [email]"
    assert found.answer == found.steps[0].text == "I mailed [email]"
    assert found.guardrails == [
        "guardrail personal_data of its input: mask",
        "guardrail personal_data of its output: mask",
    ]
    assert traces(replays.world) == before


@dataclass
class Watching(Hook):
    """Remembers what it was asked, and refuses at one point."""

    refuses: str = ""
    seen: list[str] = field(default_factory=list)
    abouts: list[About] = field(default_factory=list)

    def _at(self, point: str, about: About) -> None:
        self.seen.append(point)
        self.abouts.append(about)
        if self.refuses == point:
            raise HookRefused("not today")

    def before_model(self, about: About, request: Any) -> None:
        self._at("before_model", about)

    def after_model(self, about: About, answer: Any) -> None:
        self._at("after_model", about)

    def before_call(self, about: About, call: Any) -> None:
        self._at("before_call", about)

    def after_call(self, about: About, call: Any, outcome: Any) -> None:
        self._at("after_call", about)


@pytest.fixture
def watching(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Watching:
    hook = Watching()
    monkeypatch.setitem(HOOKS, "watching", hook)
    Agent.objects.update(hooks=["watching"])
    return hook


@pytest.mark.promise("RP-02")
def test_hooks_are_asked_as_in_any_run_and_know_that_it_is_a_replay(
    replays: Replays, recording: Recording, watching: Watching
) -> None:
    found = replays.replay(recording, asks(LOOK), DONE)
    model = ["before_model", "after_model"]
    assert watching.seen == [*model, "before_call", "after_call", *model]
    assert all(it.is_replay for it in watching.abouts)
    assert {it.run_id for it in watching.abouts} & {str(recording.run_id)} == set()
    assert found.status == "answered"
    watching.abouts.clear()
    replays.world.sql("UPDATE gateway_toolserver SET transport = 'local', url = ''")
    replays.record(says("done"))
    assert not any(it.is_replay for it in watching.abouts)


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-04")
@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("before_model", ("failed", "hook.failed")),
        ("after_model", ("failed", "hook.failed")),
        ("after_call", ("failed", "hook.failed")),
        ("before_call", ("answered", "")),
    ],
)
def test_a_hook_that_refuses_does_so_in_a_replay_and_leaves_no_trace(
    replays: Replays,
    recording: Recording,
    watching: Watching,
    point: str,
    expected: tuple[str, str],
) -> None:
    watching.refuses = point
    before = traces(replays.world)
    found = replays.replay(recording, asks(LOOK), DONE)
    assert ending(found) == expected
    assert traces(replays.world) == before
    if point == "before_call":
        assert told(found) == [("v/look", "refused", "refused")]
        assert "hook watching refused it: not today" in replays.results()[0]
        assert [it.name for it in found.unused] == ["v/look", "v/keyed"]


FROZEN = PERMIT + '@id("frozen") forbid (principal, action, resource) when { context.effect == "write" };'  # fmt: skip


@pytest.mark.promise("RP-02")
@pytest.mark.promise("RP-04")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: Policy.objects.update(text=FROZEN), "frozen"),
        (lambda: Agent.objects.update(write_posture="refuse"), "write"),
        (lambda: Tool.objects.filter(name="keyed").update(permission="x.y"), "x.y"),
        (lambda: Agent.objects.update(run_as="nobody"), "nobody"),
        (
            lambda: Tool.objects.filter(name="keyed").update(
                schema={"type": "object", "properties": {"n": {"type": "string"}}}
            ),
            "n",
        ),
    ],
    ids=["cedar", "posture", "permission", "run-as", "schema"],
)
def test_what_the_gates_refuse_today_is_refused_whatever_the_record_has_of_it(
    replays: Replays, recording: Recording, change: Callable[[], Any], words: str
) -> None:
    change()
    before = traces(replays.world)
    found = replays.replay(recording, asks(KEYED), DONE)
    assert told(found) == [("v/keyed", "refused", "refused")]
    assert words in replays.results()[0]
    assert traces(replays.world) == before
    assert compare(recording, found).counts["refused"] == 1


@pytest.mark.promise("RP-02")
def test_the_rights_are_those_of_whoever_started_the_run_as_they_are_today(
    replays: Replays,
) -> None:
    ann = get_user_model().objects.create_superuser("ann", password="x")
    recording = replays.recorded(calls(LOOK), says("done"), started_by="ann")
    assert recording.calls[0].fate == "done"
    assert told(replays.replay(recording, asks(LOOK), DONE)) == [("v/look", "exact", "done")]
    ann.is_active = False
    ann.save(update_fields=["is_active"])
    assert told(replays.replay(recording, asks(LOOK), DONE)) == [("v/look", "refused", "refused")]


@pytest.mark.promise("RP-02")
@pytest.mark.parametrize(
    ("caps", "error"),
    [
        ({"max_steps": 1}, "cap.steps"),
        ({"max_calls": 1}, "cap.calls"),
        ({"max_tokens": 10}, "cap.tokens"),
        ({"max_seconds": 1}, "cap.seconds"),
    ],
)
def test_a_replay_ends_at_the_caps_that_the_agent_has_today(
    replays: Replays, recording: Recording, caps: dict[str, int], error: str
) -> None:
    Agent.objects.update(**caps)
    slow = Turn(calls=asks(LOOK, KEYED).calls, delay_seconds=1.2 if "seconds" in error else 0)
    found = replays.replay(recording, slow, DONE)
    assert ending(found) == ("failed", error)
    assert compare(recording, found).verdict == "regressed"


@pytest.mark.promise("RP-02")
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"is_contained": True}, "agent.contained"),
        ({"is_enabled": False}, "agent.off"),
    ],
)
def test_an_agent_that_may_not_run_today_does_not_run_in_a_replay(
    replays: Replays, recording: Recording, change: dict[str, bool], error: str
) -> None:
    Agent.objects.update(**change)
    assert ending(replays.replay(recording, DONE)) == ("failed", error)
    assert replays.asked == []


def test_a_model_that_refuses_the_request_fails_the_replay_with_its_words(
    replays: Replays, recording: Recording
) -> None:
    found = replays.replay(recording, Turn(status=400, text="no such model"))
    assert ending(found) == ("failed", "model.rejected")
    assert "no such model" in found.reason
    assert (replays.budget.calls, found.steps) == (1, [])


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn(text=""), ("failed", "model.answer_empty")),
        (Turn(text="and then", finish="length"), ("failed", "model.answer_cut")),
        (Turn(refusal="I will not"), ("declined", "model.declined")),
    ],
)
def test_an_answer_that_is_none_ends_a_replay_as_it_ends_a_run(
    replays: Replays, recording: Recording, turn: Turn, expected: tuple[str, str]
) -> None:
    found = replays.replay(recording, turn)
    assert ending(found)[0] == expected[0]
    assert compare(recording, found).verdict == "regressed"


def test_a_replay_that_is_not_wanted_any_more_stops_before_the_next_call(
    replays: Replays, recording: Recording
) -> None:
    looks = iter([False] * 3)
    with pytest.raises(ReplayUnwanted):
        replays.replay(recording, *[asks(LOOK)] * 9, is_unwanted=lambda: next(looks, True))
    assert len(replays.asked) <= 2


def test_a_replay_that_is_not_wanted_any_more_stops_while_its_answer_streams(
    replays: Replays, recording: Recording
) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(ReplayUnwanted):
        replays.replay(
            recording,
            Turn(text="x" * 2000, drip_seconds=0.1),
            override={"is_streaming": True},
            is_unwanted=stop.is_set,
        )
    assert time.monotonic() - began < 3


def test_a_replay_that_is_not_wanted_any_more_stops_while_the_model_is_away(
    replays: Replays, recording: Recording
) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(ReplayUnwanted):
        replays.replay(recording, *[Turn(status=503)] * 9, is_unwanted=stop.is_set)
    assert time.monotonic() - began < 3


def test_a_replay_inside_a_transaction_is_refused(replays: Replays, recording: Recording) -> None:
    with pytest.raises(LiyagentError, match="transaction"), transaction.atomic():
        replays.replay(recording, asks(LOOK), DONE)


def test_one_recording_is_replayed_by_many_threads_at_once_and_each_has_all_its_calls(
    replays: Replays, recording: Recording
) -> None:
    replays.move_vendor()
    budget = Budget(most_calls=16)

    def answer(body: dict[str, Any]) -> Turn:
        return DONE if body["messages"][-1]["role"] == "tool" else asks(LOOK, KEYED)

    with ModelServer(answer) as server:
        agent = replays.agent(server.base_url)

        def one(_number: int) -> ReplayedRun:
            return replay_run(recording, agent, strict=True, is_unwanted=never, budget=budget)

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(one, range(8)))
    assert [told(it) for it in found] == [
        [("v/look", "exact", "done"), ("v/keyed", "exact", "done")]
    ] * 8
    assert (budget.calls, budget.is_reached) == (16, True)


@pytest.mark.parametrize(
    ("bounds", "is_reached"),
    [
        ({}, False),
        ({"most_calls": 3}, False),
        ({"most_calls": 2}, True),
        ({"most_tokens": 50}, True),
        ({"most_tokens": 51}, False),
    ],
)
def test_a_budget_is_reached_at_either_bound(bounds: dict[str, int], is_reached: bool) -> None:
    budget = Budget(**bounds)
    budget.spend(calls=1, tokens=20)
    budget.spend(calls=1, tokens=30)
    assert budget.is_reached is is_reached
