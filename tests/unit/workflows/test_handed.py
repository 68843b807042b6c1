"""What a step hands to an agent, in this house or another, is a thread of the workflow's (HO-03)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.gateway import a2a
from liyagent.gateway.models import ToolServer
from liyagent.gateway.sync import sync_server
from runs.models import Run
from tests.fakes.remote_agent import RemoteAgent
from tests.unit.runs.carrying.conftest import World, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast
from tests.unit.runs.delegating.handing import bodies, readers, sides, threads, told
from tests.unit.workflows.conftest import Works

__all__ = ["cast"]

AT_ONCE = {"times": 2, "backoff_seconds": 0}
DOWN = [("workflow:work", "agent:reader"), ("agent:reader", "workflow:work")]
OUT = [("workflow:work", "remote:disks"), ("remote:disks", "workflow:work")]


def step(key: str = "ask", **more: Any) -> dict[str, Any]:
    """A step that hands work to `reader`."""
    return {"id": key, "type": "agent", "agent": "reader", "task": "read {{ input.what }}", **more}


@pytest.fixture
def disks(world: World) -> Iterator[RemoteAgent]:
    """A remote agent, which the workflow's agent may ask."""
    with RemoteAgent() as agent:
        Agent.objects.update(tool_patterns=["v/*", "disks/*"])
        server = ToolServer.objects.create(key="disks", transport="a2a", url=agent.url)
        assert sync_server(server, actor="cli:me").error == ""
        yield agent
        a2a.close_all()


@pytest.mark.promise("HO-03", "HO-04")
@pytest.mark.parametrize("is_branch", [False, True], ids=["a step", "a step of a branch"])
def test_a_step_hands_work_down_as_its_workflow(works: Works, cast: Cast, is_branch: bool) -> None:
    cast.lists = {"reader": [says("all read")]}
    steps = [step()]
    if is_branch:
        steps = [{"id": "all", "type": "parallel", "branches": {"one": [step()]}}]
    run = works.start(*steps, given={"what": "it"})
    carry_all(works.world)
    assert Run.objects.get(id=run.id).status == "answered"
    child = Run.objects.get(agent_key="reader")
    (thread,) = threads()
    assert bodies(thread) == [{"task": "read it"}, {"status": "answered", "answer": "all read"}]
    assert sides(thread) == DOWN
    assert child.parent_id is not None
    asker = Run.objects.get(id=child.parent_id)
    assert (asker.id == run.id) is not is_branch
    assert readers(thread) == [(1, "agent:reader", child.id), (2, "workflow:work", asker.id)]
    assert told(asker) == [("written", 1), ("read", 2)]


@pytest.mark.promise("HO-03")
def test_a_step_that_is_tried_again_hands_over_again(works: Works, cast: Cast) -> None:
    cast.lists = {"reader": [says("")]}
    run = works.start(step(retry=AT_ONCE), given={"what": "it"})
    works.world.process("first").carry()
    works.world.process("second").carry()
    cast.lists = {"reader": [says("all read")]}
    carry_all(works.world)
    assert Run.objects.get(id=run.id).status == "answered"
    assert [bodies(it)[1]["status"] for it in threads()] == ["failed", "answered"]
    assert told(run) == [("written", 1), ("read", 2)] * 2


@pytest.mark.promise("HO-03")
def test_a_remote_agent_that_is_asked_again_with_the_same_key_is_told_of_twice(
    works: Works, disks: RemoteAgent
) -> None:
    """A retry sends the same key, and is another hand-off: nothing of either is lost, and each has one answer."""
    ask = {"id": "ask", "type": "tool", "server": "disks", "tool": "ask"}
    run = works.start({**ask, "args": {"message": "fail"}, "retry": AT_ONCE})
    carry_all(works.world)
    assert len({it.meta["id"] for it in disks.asked}) == 1
    assert Run.objects.get(id=run.id).status == "failed"
    assert [bodies(it)[1]["status"] for it in threads()] == ["failed"] * len(disks.asked)
    assert [sides(it) for it in threads()] == [OUT] * len(disks.asked)
    assert told(run) == [("written", 1), ("read", 2)] * len(disks.asked)
    assert len(disks.asked) > 1
