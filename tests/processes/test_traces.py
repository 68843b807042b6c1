"""A real collector, and a run whose process is killed in the middle of a write: what it is told is one story."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.fakes.collector import Collected, Collector
from tests.processes.place import Place, make_whole
from tests.processes.test_outages import assert_kept, charged
from tests.processes.test_takeovers import in_their_writes, let_b_take

pytestmark = [pytest.mark.timeout(180)]
KINDS = ("keyed", "readable", "blind")
MISSION = "liyagent.mission.id"
MISSIONS = "SELECT id, mission FROM runs_run WHERE id = ANY(%s)"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture
def place(traced_place: Place) -> Place:
    """Both alive, and telling the collector."""
    make_whole(traced_place.stage)
    return traced_place


@pytest.fixture(scope="module")
def traced_place(built_place: Place, collector: Collector) -> Iterator[Place]:
    """A and B, started anew with a collector that they are to tell of their runs; afterwards without."""
    env = built_place.stage.env
    env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    start_anew(built_place)
    yield built_place
    del env["OTEL_EXPORTER_OTLP_ENDPOINT"]
    start_anew(built_place)


def start_anew(place: Place) -> None:
    """Let both end in their own way, and start them with the environment as it is now."""
    make_whole(place.stage)
    for name in ("A", "B"):
        place.stage.signal(name, signal.SIGTERM)
    for name in ("A", "B"):
        place.stage.wait_gone(name)
    make_whole(place.stage)


def told_of(collector: Collector, run: UUID) -> list[Collected]:
    """What has arrived of a run, by when it began."""
    told = [it for it in collector.spans() if it.attributes.get("liyagent.run.id") == str(run)]
    return sorted(told, key=lambda it: it.began)


@pytest.mark.promise("MI-04")
def test_a_collector_is_told_one_story_of_a_run_that_was_killed_and_resumed(
    place: Place, collector: Collector
) -> None:
    runs = in_their_writes(place, *KINDS)
    place.until(
        lambda: all(any(it.of == "model_call" for it in told_of(collector, run)) for run in runs),
        "what A tells of each run",
    )
    place.stage.signal("A", signal.SIGKILL)
    let_b_take(place)
    place.wait_for_ends(runs, seconds=60)
    assert set(charged(place, runs)) == {(1, 2)}
    place.until(
        lambda: all(any(it.of == "run" for it in told_of(collector, run)) for run in runs),
        "the spans of the runs themselves",
    )
    missions = {it["id"]: it["mission"] for it in place.watch.rows(MISSIONS, [runs])}
    for run in runs:
        told = told_of(collector, run)
        assert {it.attributes[MISSION] for it in told} == {missions[run]}
        (whole,) = (it for it in told if it.of == "run")
        assert {it.trace for it in told} == {whole.trace}
        assert {it.parent for it in told if it is not whole} == {whole.id}
        assert (whole.attributes["liyagent.run.status"], whole.attributes["liyagent.run.losses"]) == ("answered", 1)  # fmt: skip
        (swept,) = (it for it in told if it.of == "sweep")
        (resumed,) = (it for it in told if it.of == "resume")
        assert swept.attributes["liyagent.loss.cause"] == "proof"
        assert resumed.links == ((whole.trace, whole.id),)
        assert swept.began < resumed.began
        services = {it.resource["service.instance.id"]: it for it in told}
        assert len(services) == 2
        attempts = [it.attributes["liyagent.run.attempt"] for it in told if it.of == "model_call"]
        assert attempts == sorted(attempts)
        assert set(attempts) == {1, 2}
        (left,) = (it for it in told if it.attributes.get("liyagent.call.settlement"))
        assert left.began > resumed.began
    # Each trace is of one run, and no span came twice.
    spans = [it for it in collector.spans() if it.of != "request"]
    assert len({it.trace for it in spans}) == len(
        {it.attributes["liyagent.run.id"] for it in spans}
    )
    assert len({it.id for it in spans}) == len(spans)
    # And of the requests that started them, as uvicorn handed them on.
    asked = [it for it in collector.spans() if it.name.startswith("POST ")]
    assert len(asked) >= len(runs)
    assert {it.attributes["http.response.status_code"] // 100 for it in asked} == {2}
    assert all(it.attributes[MISSION] for it in asked)
    place.check_chains(runs)
    assert_kept(place.judged(runs))


def test_runs_go_on_while_the_collector_is_down_and_are_told_of_once_it_is_back(
    place: Place, collector: Collector
) -> None:
    collector.__exit__()
    runs = place.start_runs(*KINDS)
    place.wait_for_ends(runs)
    collector.__enter__()
    place.until(
        lambda: all(any(it.of == "run" for it in told_of(collector, run)) for run in runs),
        "what was told while the collector was down",
        seconds=40,
    )
    for run in runs:
        assert [it.of for it in told_of(collector, run)].count("model_call") == 4
