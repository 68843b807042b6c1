"""Where no collector is set: nothing of OpenTelemetry's SDK is there, and a span costs a look and no memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from django.conf import settings

from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import (
    NOTHING,
    current_span,
    run_span,
    span,
    story_of,
    tell_later,
    trace_meta,
)
from tests.fakes.traced import Told, a_run

ROOT = Path(__file__).resolve().parents[3]
STEPS = 1_000
# What `serve` imports, and what its warm-up does without a database.
SERVES = """
import sys
import django
django.setup()
import liyagent.asgi, runs.process
from django.conf import settings
from liyagent.telemetry.spans import run_span, span, story_of, tracing_of
assert tracing_of(settings.LIYAGENT.traces) is None
rooms = ["opentelemetry." + it for it in ("sdk", "instrumentation", "proto", "exporter")]
print(sorted(it for it in sys.modules if it.startswith((*rooms, "liyagent.telemetry"))))
"""


def step(run: Told) -> None:
    """All that a step of a run asks of spans: a model call, two checks and three calls, each with its facts."""
    with span(Kind.GUARDRAIL_CHECK, "input"):
        pass
    with span(Kind.MODEL_CALL, "gpt") as asking:
        if asking:
            asking.tell(operation="chat", model="gpt", provider="openai")
        if told := current_span():
            told.tell(tries=1)
        with span(Kind.GUARDRAIL_CHECK, "output"):
            pass
    for _ in range(3):
        with span(Kind.TOOL_CALL, run.agent_key):
            if told := current_span():
                told.tell(fate="done")


def test_a_process_without_a_collector_has_nothing_of_the_sdk() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    found = subprocess.run(
        [sys.executable, "-c", SERVES],
        cwd=ROOT,
        env={**env, "DJANGO_SETTINGS_MODULE": "liyagent.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    modules = found.stdout.strip().splitlines()[-1]
    assert modules == str(
        ["liyagent.telemetry", "liyagent.telemetry.kinds", "liyagent.telemetry.spans"]
    )


def test_a_step_without_a_collector_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.LIYAGENT.traces is None
    run = a_run()
    with story_of(run) as story:
        step(run)
        tracemalloc.start()
        try:
            before = tracemalloc.take_snapshot()
            for _ in range(STEPS):
                step(run)
            after = tracemalloc.take_snapshot()
        finally:
            tracemalloc.stop()
    ours = [tracemalloc.Filter(True, "*/liyagent/telemetry/*")]
    grown = after.filter_traces(ours).compare_to(before.filter_traces(ours), "filename")
    assert sum(it.count_diff for it in grown) == 0
    assert story is NOTHING


def test_every_span_without_a_collector_is_one_object() -> None:
    run = a_run()
    made = [story_of(run), run_span(run), span(Kind.MODEL_CALL, "gpt"), current_span()]
    assert all(it is NOTHING for it in made)
    assert trace_meta() == {}
    tell_later(lambda _at: pytest.fail("there is nothing to tell"))
