"""A call of an agent's tool is a run: kept before it is answered, found again by its key, answered when it has ended."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp import Client, MCPError

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.entry.models import Arrival, ArrivalState
from runs.models import Run
from runs.stream import LOOKOUT
from tests.fakes.mcp_client import McpUser, asks
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.unit.runs.carrying.conftest import World, calls, says

HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"
WRITE = ("v/keyed", {"name": "x"})
KEY = {"io.liyagent/key": "alert-4711"}


@pytest.mark.promise("CR-02")
def test_a_call_is_a_run_whose_answer_it_returns(world: World, either: McpUser) -> None:
    world.model.steps = [says("all is well")]
    turns = [{"role": "user", "text": "before"}, {"role": "assistant", "text": "said"}]
    with carrying():
        result = either.call("triage", task="look after it", history=turns)
    run = Run.objects.get()
    assert (run.entry, run.started_by, run.agent_key) == ("mcp", "ann", "triage")
    assert not result.is_error
    assert [it.text for it in result.content] == ["all is well"]
    facts = {"run_id": str(run.id), "status": "answered", "mission": run.mission}
    assert result.structured_content == {**facts, "answer": "all is well"}
    assert result.meta["io.liyagent/run"] == str(run.id)
    assert result.meta["io.liyagent/mission"] == run.mission
    asked = [it.text for it in world.model.asked[0].messages]
    assert asked[-3:] == ["before", "said", "look after it"]


@pytest.mark.promise("CR-08")
@pytest.mark.parametrize("name", ["io.liyagent/key", "io.liyagent/step-key"])
def test_a_call_sent_again_with_its_key_is_the_same_run_with_the_same_answer(
    world: World, either: McpUser, name: str
) -> None:
    world.model.steps = [says("all is well")]
    with carrying():
        first = either.call("triage", meta={name: "k-1"}, task="look")
    # Whatever became of the agent since: nothing is started any more.
    Agent.objects.update(channels=["api"])
    again = either.call("triage", meta={name: "k-1"}, task="look")
    assert again.structured_content == first.structured_content
    assert len(world.model.asked) == Run.objects.count() == Arrival.objects.count() == 1


def test_a_key_that_asked_something_else_before_is_refused(world: World, ann: McpUser) -> None:
    ann.call("triage", meta=KEY, task="look", wait_seconds=0)
    refused = ann.call("triage", meta=KEY, task="look elsewhere", wait_seconds=0)
    assert refused.is_error
    assert "used before" in refused.content[0].text
    assert Run.objects.count() == 1


def test_the_keys_of_two_callers_have_nothing_in_common(world: World, ann: McpUser) -> None:
    kim = McpUser(port=ann.port, token=api_of(make_user("kim", "agents.operate")).token)
    for user in (ann, kim):
        assert not user.call("triage", meta=KEY, task="look", wait_seconds=0).is_error
    assert Run.objects.count() == 2


def test_a_call_without_a_key_is_a_run_each_time(world: World, ann: McpUser) -> None:
    for _ in range(2):
        ann.call("triage", task="look", wait_seconds=0)
    assert Run.objects.count() == 2


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, 7, ["k"], None, "k\n"])
def test_a_key_that_is_none_is_refused_and_nothing_is_kept(
    world: World, port: int, key: Any
) -> None:
    ann = McpUser(port=port, token=api_of(make_user("ann", "agents.operate")).token)
    told = ann.post(asks(meta={"io.liyagent/key": key})).data["result"]
    assert told["isError"]
    assert "key" in told["content"][0]["text"]
    assert not Arrival.objects.exists()


def test_who_does_not_wait_is_told_how_to_ask_and_asks(world: World, ann: McpUser) -> None:
    world.model.steps = [says("all is well")]
    told = ann.call("triage", task="look", wait_seconds=0)
    run = Run.objects.get()
    assert told.structured_content["status"] == "queued"
    assert f"run_result, run_id {run.id}" in told.content[0].text
    assert not ann.call("run_result", run_id=str(run.id)).structured_content.get("answer")
    with carrying():
        result = ann.call("run_result", run_id=str(run.id), wait_seconds=20)
    assert result.content[0].text == "all is well"


def test_one_that_waits_for_a_person_says_so_at_once_and_is_answered_once_it_was_decided(
    world: World, either: McpUser
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    with carrying():
        told = either.call("triage", meta=KEY, task="write")
        approval = Approval.objects.get()
        assert not told.is_error
        assert told.structured_content["status"] == "waiting"
        waits_for = f"approval {approval.id} of v/keyed"
        assert told.structured_content["waits_for"] == waits_for
        assert f"waits for a person to decide about {waits_for}" in told.content[0].text
        kim = api_of(make_user("kim", "approvals.decide", "approvals.view_approval"))
        decision = {"reason": "ours", "digest": approval.digest}
        assert kim.post(f"/api/approvals/{approval.id}/approve", decision).status == 200
        run_id = told.structured_content["run_id"]
        assert either.call("run_result", run_id=run_id, wait_seconds=20).content[0].text == "done"
    assert either.call("triage", meta=KEY, task="write").content[0].text == "done"


@pytest.mark.parametrize("status", ["failed", "declined", "stopped", "interrupted"])
def test_one_that_ends_without_an_answer_is_an_error_with_the_reason(
    world: World, ann: McpUser, status: str
) -> None:
    ann.call("triage", meta=KEY, task="look", wait_seconds=0)
    Run.objects.update(status=status, reason="it was no use", ended_at="2026-01-01T00:00:00Z")
    told = ann.call("triage", meta=KEY, task="look")
    assert told.is_error
    assert status in told.content[0].text
    assert "it was no use" in told.content[0].text
    assert told.structured_content["reason"] == "it was no use"


def test_one_that_may_not_be_started_is_an_error_and_stays_so(world: World, ann: McpUser) -> None:
    Agent.objects.update(is_contained=True)
    for _ in range(2):
        told = ann.call("triage", meta=KEY, task="look")
        assert told.is_error
        assert told.content[0].text.startswith("Nothing was started: ")
        assert told.structured_content["status"] == "refused"
    assert Arrival.objects.get().state == ArrivalState.REFUSED
    assert not Run.objects.exists()


def test_a_run_is_told_to_who_asked_and_without_words_to_who_sees_all(
    world: World, ann: McpUser
) -> None:
    world.model.steps = [says("all is well")]
    with carrying():
        run_id = ann.call("triage", task="look").structured_content["run_id"]
    told = {
        name: McpUser(port=ann.port, token=api_of(make_user(name, "agents.operate", *more)).token)
        for name, more in {
            "kim": (),
            "dora": ("runs.view_run",),
            "rita": ("runs.view_run", "transcripts.content.read"),
        }.items()
    }
    shown = {name: it.call("run_result", run_id=run_id) for name, it in told.items()}
    assert "No run of yours" in shown["kim"].content[0].text
    assert shown["dora"].structured_content["status"] == "answered"
    assert "all is well" not in str(shown["dora"])
    assert shown["rita"].content[0].text == "all is well"
    for name, it in shown.items():
        assert it.is_error == (name != "rita")


def test_runs_of_other_ways_are_not_told(world: World, ann: McpUser) -> None:
    run = world.start(says("x"), started_by="ann")
    assert "No run of yours" in ann.call("run_result", run_id=str(run.id)).content[0].text


def test_progress_is_told_while_it_goes_on(world: World, either: McpUser) -> None:
    world.model.steps = [calls(WRITE), says("found")]
    seen: list[tuple[float, str | None]] = []
    is_told = threading.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        seen.append((progress, message))
        is_told.set()

    async def act(client: Client) -> Any:
        return await client.call_tool("triage", {"task": "look"}, progress_callback=note)

    world.vendor.before_effect = lambda _tool: assert_set(is_told)
    with carrying():
        assert either.does(act).content[0].text == "found"
    numbers = [it for it, _ in seen]
    assert numbers == sorted(set(numbers))
    assert seen[0][1] == f"running, {numbers[0]:g} events"


def assert_set(event: threading.Event) -> None:
    """It is, within ten seconds."""
    assert event.wait(10)


def test_one_process_answers_many_that_wait(world: World, ann: McpUser) -> None:
    """None holds a thread while it waits: there are more of them than threads."""
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> list[Any]:
        asked = (client.call_tool("triage", {"task": f"look {it}"}) for it in range(12))
        return await asyncio.gather(*asked)

    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(ann.does, act)
        until(lambda: Run.objects.count() == 12)
        assert not asked.done()
        with carrying():
            results = asked.result(timeout=20)
    assert [it.content[0].text for it in results] == ["all is well"] * 12


def until(holds: Callable[[], bool]) -> None:
    """Return once it holds, within ten seconds."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("not within ten seconds")


def test_who_has_too_many_open_is_told_to_come_later_and_nothing_is_kept(
    world: World, ann: McpUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("liyagent.entry.mcp_server.receive.MOST_OPEN", 1)
    ann.call("triage", meta=KEY, task="look", wait_seconds=0)
    told = ann.call("triage", task="look", wait_seconds=0)
    assert told.is_error
    assert "are open" in told.content[0].text
    assert not ann.call("triage", meta=KEY, task="look", wait_seconds=0).is_error
    assert Run.objects.count() == Arrival.objects.count() == 1


def test_a_key_that_is_revoked_meanwhile_is_told_nothing(world: World, ann: McpUser) -> None:
    async def act(client: Client) -> Any:
        asked = asyncio.create_task(client.call_tool("triage", {"task": "look"}))
        while not await asyncio.to_thread(Run.objects.exists):
            await asyncio.sleep(0.02)
        world.sql("UPDATE access_apikey SET revoked_at = now() RETURNING id")
        world.sql("UPDATE runs_run SET status = 'failed', ended_at = now() RETURNING id")
        with pytest.raises(MCPError, match="gone") as refusal:
            await asked
        return refusal.value.code

    # Not one of those that say that nothing happened.
    assert ann.does(act) == -32603


def test_a_database_that_is_away_for_a_moment_ends_no_wait(world: World, ann: McpUser) -> None:
    world.model.steps = [says("all is well")]
    run_id = ann.call("triage", task="look", wait_seconds=0).structured_content["run_id"]
    world.sql("ALTER TABLE runs_run RENAME TO runs_away")
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(ann.call, "run_result", run_id=run_id, wait_seconds=20)
        until(lambda: len(LOOKOUT.watched) == 1)
        with pytest.raises(TimeoutError):
            asked.result(timeout=0.5)
        world.sql("ALTER TABLE runs_away RENAME TO runs_run")
        with carrying():
            assert asked.result(timeout=20).content[0].text == "all is well"
