"""The gate that every message of the victim passes: it numbers them, and strikes at one."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from typing import Protocol

from tests.trials.cuts.course import Cut, Fault, Message, Moment

LONGEST_FROZEN_SECONDS = 60.0


class Severed(Exception):
    """The connection ends here, and nothing more of it is passed on."""


class Connection(Protocol):
    """What a proxy holds open for the victim."""

    def sever(self) -> None:
        """End it on both sides."""


class Gate:
    """One trial after another. Called from the threads of the proxies; what they carry waits here for its turn."""

    def __init__(self) -> None:
        """Nobody is followed yet."""
        self._lock = Lock()
        self._open: set[Connection] = set()
        self._thawed = Event()
        self._pid: int | None = None
        self.begin(None)

    def begin(
        self, cut: Cut | None, *, at_effect: dict[str, Callable[[], None]] | None = None
    ) -> None:
        """Begin a course that is struck at `cut`. `at_effect` is done once a message so named has taken effect."""
        with self._lock:
            self.course: list[str] = []
            self.cut = cut
            self.struck = Event()
            self.struck_at = 0.0
            self._pid = None
            self._seen: Counter[str] = Counter()
            self._at_effect = at_effect or {}
            self._thawed.set()

    def follow(self, pid: int) -> None:
        """Count the messages of this process from now on."""
        with self._lock:
            self._pid = pid

    @property
    def pid(self) -> int | None:
        """The process that is followed."""
        return self._pid

    def thaw(self) -> None:
        """Let a frozen victim go on, and what it had sent go its way."""
        if self._pid is not None and self.cut is not None and self.cut.fault is Fault.FREEZE:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)
        self._thawed.set()

    def joined(self, connection: Connection) -> None:
        """A connection of the victim is open."""
        with self._lock:
            self._open.add(connection)

    def left(self, connection: Connection) -> None:
        """A connection of the victim has ended."""
        with self._lock:
            self._open.discard(connection)

    def arrive(self, name: str) -> Message | None:
        """Number a message of the victim; None once nobody is followed. Raises `Severed` where it was killed."""
        with self._lock:
            if self._pid is None:
                return None
            if self._is_killed():
                raise Severed
            self._seen[name] += 1
            self.course.append(name)
            return Message(name=name, nth=self._seen[name])

    def reach(self, message: Message | None, moment: Moment) -> None:
        """Pass a moment of a message, or strike at it. Raises `Severed`."""
        if message is None:
            return
        if moment is Moment.EFFECTED and message.name in self._at_effect:
            self._at_effect[message.name]()
        cut = self.cut
        if self._is_killed():
            raise Severed
        if cut is None or self.struck.is_set() or (cut.message, cut.moment) != (message, moment):
            return
        self._strike(cut)

    def _strike(self, cut: Cut) -> None:
        assert self._pid is not None
        self._thawed.clear()
        # Said before it is done: who sees the victim end asks whether it was struck, and else has another carry its run.
        self.struck_at = time.time()
        self.struck.set()
        if cut.fault is not Fault.DISCONNECT:
            sent = signal.SIGKILL if cut.fault is Fault.KILL else signal.SIGSTOP
            with suppress(ProcessLookupError):
                os.kill(self._pid, sent)
        if cut.fault is Fault.FREEZE:
            self._thawed.wait(LONGEST_FROZEN_SECONDS)
            return
        with self._lock:
            ended = list(self._open)
        for connection in ended:
            connection.sever()
        raise Severed

    def _is_killed(self) -> bool:
        return self.struck.is_set() and self.cut is not None and self.cut.fault is Fault.KILL
