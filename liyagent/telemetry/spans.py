"""Spans as the rooms begin and end them. OpenTelemetry itself is imported by `tracing`, once a collector is set.

A span is made within the story of a run alone (`story_of`). Without one `span` answers `NOTHING`: one object, false, that
does nothing. A step then pays a look at a context variable for each span that it does not make.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from importlib import import_module
from threading import Lock
from types import TracebackType
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings

from liyagent.core.traceparent import TRACEPARENT
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry.kinds import Kind

Fact = str | int | None


class Traced(Protocol):
    """What spans are told of a run; the head of a run has it all."""

    @property
    def id(self) -> UUID:
        """The run."""
        ...

    @property
    def correlation_id(self) -> UUID:
        """Of its root: one trace for all of a family."""
        ...

    @property
    def parent_id(self) -> UUID | None:
        """The run that handed it its work."""
        ...

    @property
    def mission(self) -> str:
        """Validated before a span bears it."""
        ...

    @property
    def agent_key(self) -> str:
        """Its agent."""
        ...

    @property
    def attempt(self) -> int:
        """Which take of the run tells."""
        ...

    @property
    def recording(self) -> str:
        """`full` where its words may be told."""
        ...

    @property
    def created_at(self) -> datetime:
        """When it was started."""
        ...


class Telling(ABC):
    """A span while it lasts, ended with its block; false where none is made, so that facts need not be gathered."""

    __slots__ = ()

    @abstractmethod
    def __bool__(self) -> bool: ...

    @abstractmethod
    def __enter__(self) -> Telling: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @property
    @abstractmethod
    def traceparent(self) -> str:
        """What W3C Trace Context calls so; empty where no span is made."""

    @abstractmethod
    def tell(self, **facts: Fact) -> None:
        """Add facts by their names in `kinds.FACTS`; None and "" are left out. Never words."""

    @abstractmethod
    def tell_words(self, **texts: Any) -> None:
        """Add words by their names in `kinds.WORDS`, where the run is recorded in full and words were asked for."""

    @abstractmethod
    def fail(self, error: str) -> None:
        """Say that what the span is of went wrong; `error` is a code, never words."""


class Nothing(Telling):
    """No span."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Telling:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    @property
    def traceparent(self) -> str:
        """Empty."""
        return ""

    def tell(self, **facts: Fact) -> None:
        """Nothing is told."""

    def tell_words(self, **texts: Any) -> None:
        """Nothing is told."""

    def fail(self, error: str) -> None:
        """Nothing is told."""


class Story(ABC):
    """The story of one run: the spans that begin within its block are of that run."""

    __slots__ = ()

    @abstractmethod
    def __enter__(self) -> Story: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @abstractmethod
    def begin(self, kind: Kind, name: str, at: int) -> Telling:
        """Return a span that begins with its block; or of the moment `at`, which is past."""

    @abstractmethod
    def ended(self, asked_in: str) -> Telling:
        """Return the span of the run itself, from its start until now, linked to the `traceparent` it was asked in."""


class Tracing(Protocol):
    """What `tracing.begin_tracing` returns for a configuration."""

    def story_of(self, run: Traced) -> Story:
        """Return a run's story."""
        ...

    def later(self, work: Callable[[int], None]) -> None:
        """Do this on the thread that sends."""
        ...


NOTHING = Nothing()
STORY: ContextVar[Story | None] = ContextVar("liyagent_story", default=None)
TOLD: ContextVar[Telling] = ContextVar("liyagent_span", default=NOTHING)
_begun: dict[TracesConf, Tracing] = {}
_beginning = Lock()


def span(kind: Kind, name: str = "", *, at: int = 0) -> Telling:
    """Return a span of the run that is told of here, to be used as a block; `NOTHING` where none is.

    `at`: it was at that moment (nanoseconds since 1970), and is only told of now.
    """
    story = STORY.get()
    return NOTHING if story is None else story.begin(kind, name, at)


def current_span() -> Telling:
    """Return the innermost span that lasts, `NOTHING` where none does."""
    return TOLD.get()


def trace_meta() -> dict[str, str]:
    """Return what a message that leaves within a span tells of it: `traceparent`; empty where no span lasts."""
    told = TOLD.get()
    return {TRACEPARENT: told.traceparent} if told else {}


def story_of(run: Traced) -> Story | Telling:
    """Tell of this run until the block ends; a `NOTHING` where no collector is set."""
    tracing = tracing_of(settings.LIYAGENT.traces)
    return NOTHING if tracing is None else tracing.story_of(run)


def run_span(run: Traced, *, asked_in: str = "") -> Telling:
    """Return the span of a run that has just ended; it lasts from the run's start. `NOTHING` where no collector is set.

    `asked_in`: the `traceparent` of whoever asked for it, which it is linked to; one that is none is left out.
    """
    tracing = tracing_of(settings.LIYAGENT.traces)
    return NOTHING if tracing is None else tracing.story_of(run).ended(asked_in)


def tell_requests() -> None:
    """Have each request told of that this process answers; nothing where no collector is set.

    To be called before Django loads its middleware.
    """
    conf = settings.LIYAGENT.traces
    if conf is not None:
        import_module("liyagent.telemetry.requests").begin(conf)


def tell_later(work: Callable[[int], None]) -> None:
    """Do `work`, which tells of spans, on the thread that sends; not at all where no collector is set, or too much waits.

    It is given the moment of this call, as `span` takes it.
    """
    tracing = tracing_of(settings.LIYAGENT.traces)
    if tracing is not None:
        tracing.later(work)


def tracing_of(conf: TracesConf | None) -> Tracing | None:
    """Return what traces by this configuration in this process, begun by the first that asks; None where there is none."""
    if conf is None:
        return None
    found = _begun.get(conf)
    if found is None:
        with _beginning:
            found = _begun.get(conf)
            if found is None:
                # The SDK takes 0.1 s and some megabytes, which who has no collector need not have.
                found = import_module("liyagent.telemetry.tracing").begin_tracing(conf)
                _begun[conf] = found
    return found


# A child has none of its parent's threads: it begins anew, with nothing of what its parent has still to send.
os.register_at_fork(after_in_child=_begun.clear)
