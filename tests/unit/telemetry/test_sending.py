"""Spans leave on a thread of their own: a collector that is down, slow or refuses holds up nothing, and what it misses is counted."""

from __future__ import annotations

import logging
import threading
import time
from threading import Event

import pytest

from liyagent.core.metrics import REGISTRY
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry import sending
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import span, story_of, tell_later
from tests.fakes.collector import CLASSES, Collector
from tests.fakes.traced import Traces, a_run, traced, until


def counted(outcome: str) -> float:
    value = REGISTRY.get_sample_value("liyagent_trace_spans_total", {"outcome": outcome})
    return value or 0.0


def tell(times: int = 1, *, name: str = "m") -> None:
    with story_of(a_run()):
        for number in range(times):
            with span(Kind.MODEL_CALL, f"{name}{number}"):
                pass


def hang(collector: Collector) -> tuple[Event, Event]:
    """Let it hang: it says that it does, and goes on once it is told to."""
    hung, goes_on = Event(), Event()

    def on_request() -> None:
        hung.set()
        goes_on.wait(5)

    collector.on_request = on_request
    return hung, goes_on


def test_a_request_is_protobuf_to_the_address_with_the_headers_that_are_set(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = TracesConf(
        url=f"{collector.url}/here", headers=(("Authorization", "Bearer t"),), service="ops"
    )
    with traced(collector, conf, monkeypatch) as traces:
        tell()
        (told,) = traces.sent()
    (asked,) = collector.asked
    assert asked.path == "/here"
    assert asked.headers["content-type"] == "application/x-protobuf"
    assert asked.headers["authorization"] == "Bearer t"
    assert (told.resource["service.name"], told.kind) == ("ops", 3)


def test_many_go_in_few_requests(traces: Traces) -> None:
    tell(1_500)
    assert len(traces.sent(1_500)) == 1_500
    assert len(traces.collector.asked) < 50


def test_a_collector_that_hangs_holds_up_nobody(traces: Traces) -> None:
    hung, goes_on = hang(traces.collector)
    tell()
    assert hung.wait(5)
    began = time.monotonic()
    tell(500)
    assert time.monotonic() - began < 5
    goes_on.set()
    traces.sent(501)


def test_what_a_collector_missed_while_it_was_down_is_sent_once_it_is_back(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    tell(3, name="before")
    traces.sent(3)
    traces.collector.__exit__()
    caplog.set_level(logging.WARNING, logger="liyagent.telemetry.sending")
    tell(5, name="down")
    until(lambda: "spans wait" in caplog.text)
    traces.collector.__enter__()
    told = traces.sent(8)
    assert [it.name for it in told][3:] == [f"chat down{it}" for it in range(5)]


@pytest.mark.parametrize("status", [429, 503])
def test_one_that_is_busy_is_asked_again(traces: Traces, status: int) -> None:
    traces.collector.status = status
    tell()
    until(lambda: len(traces.collector.asked) > 2)
    before = counted("sent")
    traces.collector.status = 200
    until(lambda: counted("sent") == before + 1)


def test_one_that_is_down_is_not_asked_faster_the_more_waits(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 30)
    monkeypatch.setattr(sending, "LONGEST_PAUSE_SECONDS", 30)
    traces.collector.status = 503
    tell()
    until(lambda: len(traces.collector.asked) == 1)
    for _ in range(20):
        tell(600)
    time.sleep(0.05)
    assert len(traces.collector.asked) == 1


def test_what_is_refused_for_good_is_counted_and_what_comes_after_goes(traces: Traces) -> None:
    traces.collector.status = 400
    before = counted("refused")
    tell(3)
    until(lambda: counted("refused") == before + 3)
    traces.collector.status = 200
    tell(name="after")
    until(lambda: traces.collector.spans()[-1].name == "chat after0")


def test_spans_that_a_collector_says_it_did_not_keep_are_counted(traces: Traces) -> None:
    traces.collector.answer = CLASSES["Answer"](
        partial_success={"rejected_spans": 2, "error_message": "too old"}
    ).SerializeToString()
    before = counted("refused")
    tell(5)
    until(lambda: counted("refused") >= before + 2)


@pytest.mark.parametrize("answer", [b"\xff" * 200, b"\x0a", b"{}", b"\x0a\xff\xff\xff\xff\x7f"])
def test_whatever_a_collector_answers_ends_nothing(traces: Traces, answer: bytes) -> None:
    traces.collector.answer = answer
    before = counted("sent")
    for _ in range(2):
        tell()
        traces.sent()
    until(lambda: counted("sent") >= before + 2)


def test_of_too_many_that_wait_the_oldest_give_way_and_are_counted(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces.sending, "_most", 10)
    hung, goes_on = hang(traces.collector)
    tell(name="first")
    assert hung.wait(5)
    before = counted("full")
    tell(25)
    assert (counted("full"), len(traces.sending._waiting)) == (before + 15, 10)
    goes_on.set()
    assert [it.name for it in traces.sent(11)][1:] == [f"chat m{it}" for it in range(15, 25)]


def test_a_batch_that_comes_back_to_no_room_gives_way_and_is_counted(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces.sending, "_most", 10)
    hung, goes_on = hang(traces.collector)
    traces.collector.status = 503
    tell(name="old")
    assert hung.wait(5)
    before = counted("full"), counted("sent")
    tell(10, name="new")
    goes_on.set()
    until(lambda: counted("full") == before[0] + 1)
    traces.collector.status = 200
    until(lambda: counted("sent") == before[1] + 10)
    assert {it.name for it in traces.collector.spans()[-10:]} == {
        f"chat new{it}" for it in range(10)
    }


def test_what_is_told_later_waits_on_the_thread_that_sends(traces: Traces) -> None:
    told: list[tuple[str, int]] = []
    before = time.time_ns()
    tell_later(lambda at: told.append((threading.current_thread().name, at)))
    until(lambda: bool(told))
    ((thread, at),) = told
    assert thread == "traces"
    assert before <= at <= time.time_ns()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_broke_is_followed_by_another(traces: Traces) -> None:
    def breaks(_at: int) -> None:
        raise SystemExit

    tell_later(breaks)
    thread = traces.sending._thread
    assert thread is not None
    thread.join(5)
    tell()
    assert [it.name for it in traces.sent()] == ["chat m0"]


def test_the_end_of_a_process_sends_what_waits_and_counts_what_cannot_go(traces: Traces) -> None:
    tell(2)
    traces.sending.end(seconds=5)
    assert len(traces.collector.spans()) == 2
    traces.collector.status = 503
    before = counted("at_end")
    tell(3)
    traces.sending.end(seconds=5)
    assert counted("at_end") == before + 3


def test_text_that_is_none_costs_neither_its_span_nor_those_that_go_along(traces: Traces) -> None:
    with story_of(a_run(agent_key="a\ud800b")):
        with span(Kind.MODEL_CALL, "m\ud800") as told:
            told.tell(model="gpt\ud800")
        with span(Kind.GUARDRAIL_CHECK, "input"):
            pass
    broken, other = traces.sent(2)
    assert (broken.name, other.name) == ("chat m?", "guardrail input")
    assert broken.attributes["gen_ai.request.model"] == "gpt?"
    assert other.attributes["gen_ai.agent.name"] == "a?b"
