"""Webhooks end to end over real HTTP: a signer that knows the specification alone calls the served application."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.entry.models import Arrival
from liyagent.transcripts.models import Transcript
from runs.models import Run
from tests.fakes.signer import Signer, new_secret
from tests.flows.carrying import carrying
from tests.flows.serving import serving
from tests.unit.entry.webhooks import conftest as at_hooks
from tests.unit.entry.webhooks.conftest import ALERT, Hooks
from tests.unit.runs.carrying import conftest as at_runs
from tests.unit.runs.carrying.conftest import says

world = at_runs.world
hooks = at_hooks.hooks


@pytest.fixture
def signer(hooks: Hooks) -> Iterator[Signer]:
    """The sender of the trigger's calls; a runner carries what they start."""
    hooks.world.model.steps = [says("cleaned /var")]
    with serving() as port, carrying():
        yield Signer(url=f"http://127.0.0.1:{port}/hooks/pager", secrets=[hooks.secret])


def until(holds: Callable[[], Any], *, seconds: float = 20) -> Any:
    """Return what is asked for, once it is so."""
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return found


def ended() -> Arrival | None:
    return Arrival.objects.filter(state="ended").first()


@pytest.mark.promise("CR-05")
@pytest.mark.field("FL-70")
def test_a_signed_call_is_accepted_carried_and_answered_the_same_for_ever_after(
    signer: Signer,
) -> None:
    first = signer.send(ALERT, message="msg_1")
    assert first.status == 202
    assert first.json()["state"] == "accepted"
    arrival = until(ended)
    assert (str(arrival.run_id), arrival.outcome) == (first.json()["id"], "answered")
    assert Transcript.objects.filter(run_id=arrival.run_id).exists()
    again = signer.send({**ALERT, "at": "an hour later"}, message="msg_1")
    assert (again.status, again.body) == (first.status, first.body)
    assert Run.objects.count() == 1


@pytest.mark.promise("CR-05")
def test_a_caller_that_hangs_up_changes_nothing(signer: Signer) -> None:
    signer.hang_up(ALERT, message="msg_1")
    until(lambda: Arrival.objects.filter(state="ended").exists())
    told = signer.send(ALERT, message="msg_1").json()
    assert told["id"] == str(Arrival.objects.get(delivery_id="msg_1").run_id)
    assert Run.objects.count() == 1


@pytest.mark.field("FL-70")
def test_one_delivery_from_many_sides_at_once_is_one_run(signer: Signer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda it: signer.send({**ALERT, "at": it}, message="msg_1"), range(16))
        )
    assert {it.status for it in answers} == {202}
    assert len({it.body for it in answers}) == 1
    until(ended)
    assert Run.objects.count() == Arrival.objects.count() == 1


def test_what_is_refused_is_a_problem_over_the_wire_and_starts_nothing(
    signer: Signer, hooks: Hooks
) -> None:
    forged = Signer(url=signer.url, secrets=[new_secret()])
    unsigned = {"webhook-id": "", "webhook-timestamp": "", "webhook-signature": ""}
    refused = {
        "unsigned": (401, signer.send(ALERT, message="x", headers=unsigned)),
        "forged": (401, forged.send(ALERT, message="x")),
        "stale": (401, signer.send(ALERT, message="x", age=400)),
        "not json": (400, signer.send(b"{", message="x")),
        "misfit": (422, signer.send({}, message="x")),
        "large": (413, signer.send({"host": "x" * 300_000}, message="x")),
        "very large": (413, signer.send({"host": "x" * 2_500_000}, message="x")),
        "xml": (415, signer.send(ALERT, message="x", headers={"content-type": "text/xml"})),
    }
    for name, (status, answer) in refused.items():
        assert answer.status == status, name
        assert answer.headers["content-type"] == "application/problem+json", name
    Agent.objects.update(channels=["api"])
    closed = [signer.send(ALERT, message="closed") for _ in range(2)]
    assert [it.status for it in closed] == [409, 409]
    assert "not by webhook" in json.loads(closed[1].body)["detail"]
    assert not Run.objects.exists()


def test_a_burst_is_met_with_429_and_nothing_that_was_accepted_is_dropped(
    signer: Signer, hooks: Hooks
) -> None:
    hooks.save(most_a_minute=10)
    answers = [signer.send(ALERT, message=f"msg_{number}") for number in range(14)]
    assert [it.status for it in answers] == [202] * 10 + [429] * 4
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    until(lambda: Arrival.objects.filter(state="ended").count() == 10)
