"""A task of another agent over the death of the process that carries it: one run, told of, canceled once (CR-02, FL-80)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from tests.fakes.a2a_client import A2aClient, Refused
from tests.fakes.webhook_receiver import Receiver
from tests.processes.place import WRITES_A_RUN, Place
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

# What a dead process had claimed is another's once the lease of its claim is over: a minute, not waited for here.
CLAIMS_LAPSE = "UPDATE entry_delivery SET claimed_until = NULL, next_at = liyagent_now() WHERE state = 'pending' RETURNING id"  # fmt: skip
pytestmark = [pytest.mark.timeout(180)]


def client_of(place: Place, name: str, *, is_old: bool = False) -> A2aClient:
    """Another agent that asks process `name`."""
    port = urlsplit(place.stage.url(name)).port
    assert port is not None
    return A2aClient(port=port, token=place.stage.token, is_old=is_old, agent=AGENTS["keyed"])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Where the other agent is told."""
    with Receiver() as it:
        yield it


@pytest.fixture(params=[False, True], ids=["1.0", "0.3"])
def clients(request: pytest.FixtureRequest, place: Place) -> dict[str, A2aClient]:
    """The same agent at either process, in either version."""
    return {name: client_of(place, name, is_old=request.param) for name in "AB"}


def begun(place: Place, client: A2aClient, **configuration: Any) -> tuple[UUID, dict[str, Any]]:
    """A task whose run has begun to write, and the message that began it."""
    message = client.message("File two things.")
    task = UUID(client.send(message, waits=False, **configuration)["id"])
    place.until(lambda: place.effects([task])["incident"] > 0, "a write", seconds=60)
    return task, message


@pytest.mark.promise("CR-02")
def test_a_task_whose_process_is_killed_is_answered_and_told_by_the_other(
    place: Place, clients: dict[str, A2aClient], receiver: Receiver
) -> None:
    here, there = clients["A"], clients["B"]
    name = "pushNotificationConfig" if here.is_old else "taskPushNotificationConfig"
    task, message = begun(place, here, **{name: {"url": receiver.url, "token": "t-1"}})
    place.stage.signal("A", signal.SIGKILL)
    assert there.send(message, waits=False)["id"] == str(task)
    done = there.send(message)
    assert there.state(done) == "completed"
    assert done["artifacts"]
    assert there.send(message)["id"] == str(task)
    place.watch.rows(CLAIMS_LAPSE)
    place.until(lambda: bool(receiver.received), "that the other agent is told")
    told = receiver.received[0]
    assert there.state(told.told if here.is_old else told.told["task"]) == "completed"
    assert told.headers["x-a2a-notification-token"] == "t-1"
    assert_kept(place.judged([task], asked=WRITES_A_RUN))


@pytest.mark.field("FL-80")
def test_a_task_whose_process_was_just_killed_is_canceled_at_the_other_for_good(
    place: Place, clients: dict[str, A2aClient]
) -> None:
    there = clients["B"]
    task, _ = begun(place, clients["A"])
    place.stage.signal("A", signal.SIGKILL)
    # Where it was faster, it has completed, and stays so.
    with suppress(Refused):
        assert there.state(there.cancel(str(task))) in {"working", "canceled"}
    place.wait_for_ends([task])
    end = there.get(str(task))
    assert there.state(end) in {"canceled", "completed"}
    written = place.effects([task])
    if there.state(end) == "canceled":
        assert there.cancel(str(task)) == there.cancel(str(task)) == end
    assert place.heads([task])[0]["status"] in {"stopped", "answered"}
    assert place.effects([task]) == written
    assert place.judged([task]).duplicates == ()
