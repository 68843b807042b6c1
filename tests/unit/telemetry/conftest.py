"""A collector, and a process that is configured to send to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from liyagent.core.traces_conf import TracesConf
from tests.fakes.collector import Collector
from tests.fakes.traced import Traces, traced


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture
def traces_conf(collector: Collector) -> TracesConf:
    """What is configured; a test that wants more says so by its own."""
    return TracesConf(url=f"{collector.url}/v1/traces")


@pytest.fixture
def traces(
    collector: Collector, traces_conf: TracesConf, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Traces]:
    """Tracing is on, and what waits is sent at once."""
    with traced(collector, traces_conf, monkeypatch) as made:
        yield made
