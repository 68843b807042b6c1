"""Spans of a run: one trace whatever carries it, each with its mission, and no words that were not asked for."""

from __future__ import annotations

import dataclasses
from uuid import uuid4

import pytest

from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry.kinds import FACTS, OF_THE_RUN, WORDS, Kind
from liyagent.telemetry.spans import NOTHING, current_span, run_span, span, story_of, trace_meta
from tests.fakes.collector import Collector
from tests.fakes.traced import Traces, a_run, traced

HOSTILE = ("", "-a", "a b", "a\r\nx: y", "\u0430", "a" * 129, "%61", "a\n", "a,b=c")


def test_what_two_processes_tell_of_a_run_is_one_trace_below_the_span_of_the_run(
    traces: Traces,
) -> None:
    run = a_run()
    with story_of(run), span(Kind.MODEL_CALL, "gpt"):
        pass
    again = dataclasses.replace(run, attempt=2)
    with story_of(again), span(Kind.RESUME):
        pass
    with run_span(again) as told:
        told.tell(status="answered")
    first, resumed, whole = traces.sent(3)
    assert (first.name, resumed.name, whole.name) == ("chat gpt", "resume", "invoke_agent triage")
    assert len({it.trace for it in (first, resumed, whole)}) == 1
    assert {first.parent, resumed.parent} == {whole.id}
    assert (whole.parent, resumed.links) == ("", ((whole.trace, whole.id),))
    assert [it.attributes["liyagent.run.attempt"] for it in (first, resumed)] == [1, 2]
    assert whole.began == round(run.created_at.timestamp()) * 10**9


def test_a_child_is_told_of_below_its_parent_in_one_trace(traces: Traces) -> None:
    parent = a_run()
    child = a_run(correlation_id=parent.correlation_id, parent_id=parent.id)
    for it in (child, parent):
        with run_span(it):
            pass
    below, above = traces.sent(2)
    assert (below.parent, below.trace) == (above.id, above.trace)


@pytest.mark.promise("MI-04")
@pytest.mark.parametrize("kind", Kind)
def test_each_span_bears_its_mission(traces: Traces, kind: Kind) -> None:
    run = a_run()
    with story_of(run), run_span(run) if kind is Kind.RUN else span(kind, "x"):
        pass
    (told,) = traces.sent()
    assert told.attributes["liyagent.mission.id"] == "incident-42"
    assert told.of == kind.value


@pytest.mark.promise("MI-04")
@pytest.mark.promise("MI-02")
@pytest.mark.parametrize("mission", HOSTILE)
def test_a_mission_of_another_shape_is_dropped_and_the_correlation_id_stands_in(
    traces: Traces, mission: str
) -> None:
    run = a_run(mission=mission)
    with story_of(run), span(Kind.TOOL_CALL, "jira/create_issue"):
        pass
    (told,) = traces.sent()
    assert told.attributes["liyagent.mission.id"] == str(run.correlation_id)


@pytest.mark.promise("MI-04")
def test_a_span_that_lost_its_mission_is_counted_and_never_sent(traces: Traces) -> None:
    run = a_run()
    with story_of(run), span(Kind.MODEL_CALL) as told:
        told._span.set_attribute("liyagent.mission.id", "a b")  # type: ignore[attr-defined]
    with story_of(run), span(Kind.GUARDRAIL_CHECK):
        pass
    assert [it.of for it in traces.sent()] == ["guardrail_check"]


@pytest.mark.promise("MI-07")
def test_no_fact_that_code_can_tell_is_one_that_a_span_has_of_its_run() -> None:
    assert {*FACTS.values(), *WORDS.values()}.isdisjoint(OF_THE_RUN)


def test_what_ends_a_block_is_told_by_its_name_alone(traces: Traces) -> None:
    class HandedBack(Exception):
        """As the loop's own."""

    run = a_run()
    for error in (HandedBack(), RuntimeError("the password is hunter2")):
        with pytest.raises(type(error)), story_of(run), span(Kind.TOOL_CALL):
            raise error
    waits, failed = traces.sent(2)
    assert (waits.error, waits.attributes["liyagent.span.cut_by"]) == (False, "HandedBack")
    assert (failed.error, failed.message) == (True, "")
    assert failed.attributes["error.type"] == "RuntimeError"


def test_a_span_never_ends_before_it_began(traces: Traces) -> None:
    run = a_run()
    with run_span(dataclasses.replace(run, created_at=run.created_at.replace(year=2200))):
        pass
    (told,) = traces.sent()
    assert told.ended == told.began


@pytest.mark.parametrize("recording", ["full", "metadata"])
@pytest.mark.parametrize("is_asked", [True, False])
def test_words_are_told_where_recording_and_setting_both_say_so(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, recording: str, is_asked: bool
) -> None:
    conf = TracesConf(url=f"{collector.url}/v1/traces", has_words=is_asked)
    with traced(collector, conf, monkeypatch) as traces:
        with story_of(a_run(recording=recording)), span(Kind.TOOL_CALL) as told:
            told.tell_words(arguments={"b": 1, "a": "\ud800"}, result="x" * 20_000)
        (sent,) = traces.sent()
    words = {name: sent.attributes[name] for name in WORDS.values() if name in sent.attributes}
    told_words = {
        "liyagent.words.arguments": '{"a": "?", "b": 1}',
        "liyagent.words.result": "x" * 8_000,
    }
    assert words == (told_words if recording == "full" and is_asked else {})


def test_of_many_runs_about_the_share_is_told_and_each_whole(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = TracesConf(url=f"{collector.url}/v1/traces", share=0.5)
    with traced(collector, conf, monkeypatch) as traces:
        for run in [a_run() for _ in range(200)]:
            for attempt in (1, 2):
                with story_of(dataclasses.replace(run, attempt=attempt)), span(Kind.RESUME):
                    pass
            with run_span(run):
                pass
        traces.sending.end(seconds=5)
    told = [it.attributes["liyagent.run.id"] for it in collector.spans()]
    assert {told.count(it) for it in set(told)} == {3}
    assert 60 < len(set(told)) < 140


def test_what_the_environment_limits_and_names_leaves_a_span_whole(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "2")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,service.name=x,odd")
    monkeypatch.setenv("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "nobody_has_it")
    with traced(collector, TracesConf(url=f"{collector.url}/v1/traces"), monkeypatch) as traces:
        with story_of(a_run()), span(Kind.MODEL_CALL) as told:
            told.tell(model="gpt", provider="openai")
        (sent,) = traces.sent()
    assert sent.attributes["liyagent.mission.id"] == "incident-42"
    assert len(sent.attributes) == 8
    assert (sent.resource["deployment.environment"], sent.resource["service.name"]) == ("prod", "liyagent")  # fmt: skip


def test_what_leaves_within_a_span_tells_of_it(traces: Traces) -> None:
    assert trace_meta() == {}
    with story_of(a_run()), span(Kind.TOOL_CALL) as told:
        assert current_span() is told
        meta = trace_meta()
    assert (trace_meta(), current_span()) == ({}, NOTHING)
    (sent,) = traces.sent()
    assert meta == {"traceparent": f"00-{sent.trace}-{sent.id}-01"}


def test_a_run_outside_of_any_story_is_told_of_by_nobody(traces: Traces) -> None:
    with span(Kind.MODEL_CALL, "gpt") as told:
        told.tell(model="gpt")
        told.tell_words(answer="x")
        told.fail("x")
    assert told is NOTHING
    assert not told
    assert str(uuid4()) not in told.traceparent
