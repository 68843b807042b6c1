"""A span that lasts as long as its block, and what may be told of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import Token
from time import time_ns
from types import TracebackType
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span, StatusCode

from liyagent.telemetry.kinds import CUT_BY, ERROR, FACTS, MOST_WORDS, WORDS
from liyagent.telemetry.otlp import sendable
from liyagent.telemetry.spans import TOLD, Fact, Telling

# How a run's thread leaves a block that did not fail: it goes to sleep, is carried elsewhere, or has ended.
NO_FAILURE = frozenset({"HandedBack", "MayNotGoOn", "NotAsked", "LostLease"})


class LiveSpan(Telling):
    """Begins and ends with its block; what ends the block is told by the name of its class alone."""

    __slots__ = ("_ended", "_has_words", "_span", "_start", "_token")

    def __init__(self, start: Callable[[], Span], *, has_words: bool, ended: int = 0) -> None:
        """`start` begins it. `has_words`: words of its run may be told. `ended`: when it ended, 0 with its block."""
        self._start = start
        self._has_words = has_words
        self._ended = ended
        self._token: Token[Telling] | None = None

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> LiveSpan:
        self._span = self._start()
        self._token = TOLD.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            TOLD.reset(self._token)
        if kind is not None and kind.__name__ in NO_FAILURE:
            self._span.set_attribute(CUT_BY, kind.__name__)
        elif kind is not None:
            self.fail(kind.__name__)
        # A run begins by the database's clock, which may be ahead of ours.
        began = self._span.start_time if isinstance(self._span, ReadableSpan) else None
        self._span.end(self._ended or max(time_ns(), began or 0))

    @property
    def traceparent(self) -> str:
        """What W3C Trace Context calls so."""
        it = self._span.get_span_context()
        return f"00-{it.trace_id:032x}-{it.span_id:016x}-{it.trace_flags & 1:02x}"

    def tell(self, **facts: Fact) -> None:
        """Add facts."""
        for name, fact in facts.items():
            if fact is not None and fact != "":
                told = sendable(fact) if isinstance(fact, str) else fact
                self._span.set_attribute(FACTS[name], told)

    def tell_words(self, **texts: Any) -> None:
        """Add words, cut where they are long; nothing where they may not be told."""
        if not self._has_words:
            return
        for name, text in texts.items():
            if text:
                told = text if isinstance(text, str) else _plain(text)
                self._span.set_attribute(WORDS[name], sendable(told[:MOST_WORDS]))

    def fail(self, error: str) -> None:
        """Say that it went wrong."""
        self._span.set_attribute(ERROR, sendable(error))
        self._span.set_status(StatusCode.ERROR)


def _plain(value: Any) -> str:
    """Whatever it is: what cannot be told well may not end a run."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)
