"""Whoever asks for a run has a trace of its own, and the run's span is linked to it: by every way in, and across a death."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from liyagent.core.traceparent import clean_traceparent
from liyagent.core.traces_conf import TracesConf
from liyagent.entry.arrive import Arriving, arrive
from liyagent.entry.begin import begin_due
from missions.context import NO_STAMP, stamped
from runs.checkpoint import START, sealer_of
from runs.models import Part, Run
from tests.fakes.collector import Collector
from tests.fakes.mcp_client import McpUser, asks
from tests.fakes.traced import Traces, traced
from tests.flows.conftest import api_of, make_user
from tests.unit.entry.a2a.conftest import Rpc, message
from tests.unit.entry.mcp_server.conftest import ann, port
from tests.unit.runs.carrying.conftest import World, calls, never, says, world
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

__all__ = ["ann", "port", "world"]
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ASKED = f"00-{TRACE}-{SPAN}-01"
OTHER = f"00-{SPAN}{SPAN}-{SPAN}-00"


@pytest.fixture
def traces(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    with Collector() as collector:
        conf = TracesConf(url=f"{collector.url}/v1/traces")
        with traced(collector, conf, monkeypatch) as made:
            yield made


def kept(run: Run) -> str:
    """The `traceparent` that is sealed with a run's start."""
    part = Part.objects.get(run_id=run.id, number=0)
    start = sealer_of(run).open(bytes(part.sealed), kind=START, number=0)
    return str(start.get("traceparent", ""))


@pytest.mark.promise("MI-04")
def test_the_span_of_a_run_that_was_lost_is_linked_to_whoever_asked_for_it(
    world: World, traces: Traces
) -> None:
    with stamped(replace(NO_STAMP, traceparent=ASKED)):
        run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    assert world.process("second").carry().status == "answered"
    traces.sending.end(seconds=5)
    told = [
        it for it in traces.collector.spans() if it.attributes["liyagent.run.id"] == str(run.id)
    ]
    (whole,) = [it for it in told if it.of == "run"]
    # Linked, and no more: what a caller samples or leaves out takes no run away.
    assert (whole.links, whole.trace == TRACE) == (((TRACE, SPAN),), False)
    assert not whole.parent
    assert sum((TRACE, SPAN) in it.links for it in told) == 1


def test_where_nothing_is_traced_nothing_of_it_is_kept(world: World) -> None:
    with stamped(replace(NO_STAMP, traceparent=ASKED)):
        assert kept(world.start(says("done"))) == ""


def test_an_arrival_that_another_process_starts_keeps_its_own(world: World, traces: Traces) -> None:
    arriving = Arriving(
        way="webhook",
        source="pager",
        delivery_id="d-1",
        agent_key="triage",
        started_by="ops",
        words={"task": "disk full"},
    )
    with stamped(replace(NO_STAMP, traceparent=ASKED)):
        arrived = arrive(arriving)
    world.sql("UPDATE entry_arrival SET claimed_until = liyagent_now() - interval '1 s'")
    with stamped(replace(NO_STAMP, traceparent=OTHER)):
        assert begin_due(never) == 1
    assert kept(Run.objects.get(id=arrived.run_id)) == ASKED


@pytest.mark.parametrize(
    "asked",
    [
        (ASKED, OTHER, ASKED),
        ("", ASKED, ASKED),
        ("nonsense", ASKED, ASKED),
        ("", f"{ASKED}\n", ""),
        ("", 7, ""),
        ("", None, ""),
    ],
)
def test_it_is_taken_from_the_header_else_from_the_message(
    world: World, ann: McpUser, traces: Traces, asked: tuple[str, Any, str]
) -> None:
    """Served before anything is traced, so that no request is told of."""
    header, meta, taken = asked
    api = api_of(make_user("ben", "agents.operate"))
    headers = {"traceparent": header} if header else {}
    named = {"traceparent": meta}
    world.model.steps = [says("done")]
    answer = ann.post(asks(meta=named, wait_seconds=0), **headers)
    by_mcp = answer.data["result"]["_meta"]["io.liyagent/run"]
    params = {"message": message(), "_meta": named, "configuration": {"returnImmediately": True}}
    by_a2a = Rpc(api=api).call("SendMessage", params, **headers)["task"]["id"]
    assert [kept(Run.objects.get(id=it)) for it in (by_mcp, by_a2a)] == [taken, taken]
    by_api = api.post("/api/agents/triage/runs", {"task": "look"}, **headers).data["id"]
    assert kept(Run.objects.get(id=by_api)) == clean_traceparent(header)


@pytest.mark.parametrize(
    "value",
    [
        "", None, ["x"], ASKED.upper(), f" {ASKED}", f"{ASKED}\n", f"{ASKED}-00", f"01{ASKED[2:]}", f"ff{ASKED[2:]}",
        f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"{ASKED},{ASKED}", ASKED.replace("7", "\uff17"),
        "00-" + "a" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_traceparent_is_dropped(value: object) -> None:
    assert clean_traceparent(value) == ""
