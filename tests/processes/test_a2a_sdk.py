"""A message sent again to the other process by the SDK's own client: one task, whenever it comes (CR-02)."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest
from a2a.types import TaskState

from tests.fakes.a2a_sdk import Sdk, message, sent
from tests.processes.place import WRITES_A_RUN, Place
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(300)]


def of(place: Place, name: str, version: str) -> Sdk:
    """The SDK at process `name`."""
    port = urlsplit(place.stage.url(name)).port
    assert port is not None
    return Sdk(port=port, token=place.stage.token, version=version, agent=AGENTS["keyed"])


@pytest.mark.promise("CR-02")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_message_delivered_again_to_the_other_process_is_the_same_task_while_it_runs_and_after(
    place: Place, version: str
) -> None:
    def send(name: str, *, waits: bool) -> Any:
        async def acting() -> Any:
            async with of(place, name, version).client(polling=not waits) as client:
                return await sent(client, message("File two things.", id=f"alert-{version}"))

        return asyncio.run(acting())

    first = send("A", waits=False)
    assert first.status.state in {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
    while_it_runs = send("B", waits=True)
    assert while_it_runs.id == first.id
    assert while_it_runs.status.state == TaskState.TASK_STATE_COMPLETED
    for name in "BA":
        assert send(name, waits=True) == while_it_runs
    assert_kept(place.judged([first.id], asked=WRITES_A_RUN))
