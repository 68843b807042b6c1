"""The one that traces in this process: OpenTelemetry's SDK with our ids, our mission processor and our sending.

Its provider is nobody else's: what other packages would trace by a global one (words, addresses) is not told, and what
they read from OpenTelemetry's context is not there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from uuid import UUID

from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    set_span_in_context,
)
from opentelemetry.trace import Span as ApiSpan

from liyagent.core.traceparent import ids_in
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry.ids import run_span_id_of, trace_id_of
from liyagent.telemetry.kinds import MOST_WORDS, NAMED, OUTWARD, SPAN, Kind
from liyagent.telemetry.live import LiveSpan
from liyagent.telemetry.otlp import sendable
from liyagent.telemetry.processors import MissionProcessor, context_of
from liyagent.telemetry.sending import Sending
from liyagent.telemetry.spans import STORY, Story, Traced

FULL, ASKED = "full", "asked"
# All of them told: what the environment limits elsewhere could push out a span's mission.
LIMITS = SpanLimits(
    max_attributes=64,
    max_events=0,
    max_links=8,
    max_span_attributes=64,
    max_event_attributes=0,
    max_link_attributes=8,
    max_attribute_length=MOST_WORDS,
    max_span_attribute_length=MOST_WORDS,
)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_chosen: ContextVar[tuple[int, int] | None] = ContextVar("liyagent_chosen_ids", default=None)


def begin_tracing(conf: TracesConf) -> Tracing:
    """Begin to trace by `conf`; what is told is sent from a thread that its first span starts."""
    return Tracing(conf)


def provider_of(conf: TracesConf) -> TracerProvider:
    """Return a provider that has no processor yet."""
    named = {
        "service.name": conf.service,
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    resource = OTELResourceDetector().detect().merge(Resource(named))
    told = {sendable(name): sendable(str(it)) for name, it in resource.attributes.items()}
    return TracerProvider(
        # By the trace alone, whatever the parent says: each process then decides of a run as the others do.
        sampler=TraceIdRatioBased(conf.share),
        resource=Resource(told),
        shutdown_on_exit=False,
        id_generator=ChosenIds(),
        span_limits=LIMITS,
        meter_provider=NoOpMeterProvider(),
    )


class ChosenIds(RandomIdGenerator):
    """Random ids, but for the span of a run itself."""

    def generate_span_id(self) -> int:
        """Return the id that was chosen, else a random one."""
        chosen = _chosen.get()
        return super().generate_span_id() if chosen is None else chosen[1]

    def generate_trace_id(self) -> int:
        """Return the id that was chosen, else a random one."""
        chosen = _chosen.get()
        return super().generate_trace_id() if chosen is None else chosen[0]


class Tracing:
    """A provider with its sending. One a process and configuration."""

    def __init__(self, conf: TracesConf) -> None:
        """Set it up; nothing is sent yet."""
        self.has_words = conf.has_words
        self.sending = Sending(conf)
        provider = provider_of(conf)
        self.resource = provider.resource
        provider.add_span_processor(MissionProcessor())
        provider.add_span_processor(self.sending)
        self.tracer = provider.get_tracer("liyagent")

    def story_of(self, run: Traced) -> RunStory:
        """Return a run's story."""
        return RunStory(run, tracer=self.tracer, has_words=self.has_words and run.recording == FULL)

    def later(self, work: Callable[[int], None]) -> None:
        """Do this on the thread that sends."""
        self.sending.later(work)


class RunStory(Story):
    """The spans of one run, as this attempt tells them: children of the run's span, whoever writes that one at its end.

    Flat on purpose: a span that dies with its process is nobody's parent.
    """

    __slots__ = ("_context", "_has_words", "_run", "_token", "_tracer")

    def __init__(self, run: Traced, *, tracer: Tracer, has_words: bool) -> None:
        """`has_words`: its words may be told."""
        self._run = run
        self._tracer = tracer
        self._has_words = has_words
        self._context = context_of(mission=run.mission, correlation_id=run.correlation_id)
        self._token: Token[Story | None] | None = None

    def __enter__(self) -> RunStory:
        self._token = STORY.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            STORY.reset(self._token)

    def begin(self, kind: Kind, name: str, at: int) -> LiveSpan:
        """Return a span that begins with its block. A resume's is linked to the span of the run that it takes up."""
        own = _span_context(self._run.correlation_id, self._run.id)
        links = [Link(own, {SPAN: Kind.RUN.value})] if kind is Kind.RESUME else []
        return LiveSpan(
            lambda: self._start(kind, name, parent=own, links=links, start=at or None),
            has_words=self._has_words,
            ended=at,
        )

    def ended(self, asked_in: str) -> LiveSpan:
        """Return the span of the run itself, from its start until now; the parent's is above a child's.

        Whoever asked for the run has a trace of its own: that is linked, and nobody's parent.
        """
        run = self._run
        above = run.parent_id and _span_context(run.correlation_id, run.parent_id)
        own = (trace_id_of(run.correlation_id), run_span_id_of(run.id))
        began = round(run.created_at.timestamp() * 1e9)
        asked = ids_in(asked_in)
        links = [Link(SpanContext(*asked, is_remote=True), {SPAN: ASKED})] if asked else []

        def start() -> ApiSpan:
            with _ids(*own):
                return self._start(
                    Kind.RUN, run.agent_key, parent=above or None, links=links, start=began
                )

        return LiveSpan(start, has_words=self._has_words)

    def _start(
        self,
        kind: Kind,
        name: str,
        *,
        parent: SpanContext | None,
        links: Sequence[Link] = (),
        start: int | None = None,
    ) -> ApiSpan:
        context = self._context
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(parent), context)
        run = self._run
        return self._tracer.start_span(
            f"{NAMED[kind]} {sendable(name)}" if name else NAMED[kind],
            context=context,
            kind=SpanKind.CLIENT if kind in OUTWARD else SpanKind.INTERNAL,
            attributes={
                SPAN: kind.value,
                "liyagent.run.id": str(run.id),
                "liyagent.correlation.id": str(run.correlation_id),
                "liyagent.run.attempt": run.attempt,
                "gen_ai.agent.name": sendable(run.agent_key),
            },
            links=links,
            start_time=start,
        )


def _span_context(correlation_id: UUID, run_id: UUID) -> SpanContext:
    """The span of a run, which is written once the run has ended."""
    return SpanContext(
        trace_id_of(correlation_id), run_span_id_of(run_id), is_remote=True, trace_flags=SAMPLED
    )


@contextmanager
def _ids(trace_id: int, span_id: int) -> Iterator[None]:
    token = _chosen.set((trace_id, span_id))
    try:
        yield
    finally:
        _chosen.reset(token)
