"""Each attempt to hand on an answer is a span of the run whose answer it is, with its mission, and no words."""

from __future__ import annotations

import json

import pytest

from liyagent.core.traces_conf import TracesConf
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.deliver import deliver_due
from liyagent.entry.models import Delivery
from liyagent.entry.ways import SENDERS, Mark, Sent
from tests.fakes.collector import Collector
from tests.fakes.traced import traced
from tests.unit.runs.carrying.conftest import World, never, says


@pytest.mark.promise("MI-04")
def test_an_attempt_that_failed_and_one_that_arrived_are_told_of_in_the_runs_story(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = [Sent(error="secret words of the other end", wanted_pause=1), Sent(vendor_id="v-1")]

    def send(_delivery: Delivery, _is_in_doubt: bool, mark: Mark) -> Sent:
        mark()
        return came.pop(0)

    monkeypatch.setitem(SENDERS, "webhook", send)
    with Collector() as collector:
        conf = TracesConf(url=f"{collector.url}/v1/traces", has_words=True)
        with traced(collector, conf, monkeypatch) as traces:
            world.model.steps = [says("secret answer")]
            arrived = arrive(
                Arriving(
                    way="webhook",
                    source="pager",
                    delivery_id="d-1",
                    agent_key="triage",
                    started_by="ops",
                    mission="incident-42",
                    words={"task": "look"},
                    owed=[Owed(kind="answer", address={})],
                )
            )
            begin_arrival(arrived.run_id)
            world.process().carry()
            for _ in came.copy():
                deliver_due(never, way="webhook")
                world.sql("UPDATE entry_delivery SET next_at = liyagent_now() - interval '1 s', claimed_until = NULL")  # fmt: skip
            traces.sending.end(seconds=5)
            told = collector.spans()
    (whole,) = (it for it in told if it.of == "run")
    failed, arrived_too = (it for it in told if it.of == "delivery")
    assert {it.attributes["liyagent.mission.id"] for it in told} == {"incident-42"}
    assert {(it.trace, it.parent) for it in (failed, arrived_too)} == {(whole.trace, whole.id)}
    outcomes = [it.attributes["liyagent.delivery.outcome"] for it in (failed, arrived_too)]
    assert (outcomes, failed.error, arrived_too.error) == (["failed", "delivered"], True, False)
    assert "secret" not in json.dumps([failed.attributes, arrived_too.attributes])
