"""The side of the trials: victims kept ready, told what to carry, and followed to their end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from liyagent.demo.vendors.process import ROOT
from liyagent.launcher.service import Service
from tests.trials.cuts.python import within
from tests.trials.stage import StageFailed, wait_for

READY_SECONDS = 20.0
TELLING_SECONDS = 0.3
# A neighbour is known a second after it registered: only then is its death proven at once.
KNOWN_AFTER_SECONDS = 1.3


class Victim:
    """One process. It waits until it is told a run."""

    def __init__(self, path: Path) -> None:
        """Have it made; it is ready once `pid` is asked for."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(READY_SECONDS)
        self._socket.connect(str(path))
        self._words = self._socket.makefile("rw")
        self._pid: int | None = None
        self._handle = -1
        self.asked_at = time.monotonic()

    @property
    def pid(self) -> int:
        """Its process id, once it is a holder. Raises `StageFailed`."""
        if self._pid is None:
            told = self._words.readline().strip()
            if not told:
                raise StageFailed("a victim did not become a holder; see its log")
            self._pid = int(told)
            self._handle = os.pidfd_open(self._pid)
        return self._pid

    def carry(self, run: UUID) -> None:
        """Let it begin."""
        self._words.write(f"{run}\n")
        self._words.flush()

    def ask(self, do: str, **given: Any) -> None:
        """Let it do an act; `answer` is what came of it, also where it is gone by now."""
        with suppress(OSError):
            self._words.write(json.dumps({"do": do, **given}) + "\n")
            self._words.flush()

    def answer(self, *, within_seconds: float) -> tuple[bool, Any]:
        """Return whether it has answered the act, and what; waited for so long. Raises `StageFailed` where it has ended."""
        found, _, _ = select.select([self._socket], [], [], within_seconds)
        if not found:
            return False, None
        line = ""
        with suppress(OSError):
            line = self._words.readline()
        if not line:
            raise StageFailed("a victim ended in the middle of an act; see its log")
        return True, json.loads(line)

    def ask_no_more(self) -> None:
        """Let it end once it has done what it does."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def has_ended(self, *, within_seconds: float = 0.0) -> bool:
        """Whether it is over, waited for so long."""
        found, _, _ = select.select([self._handle], [], [], within_seconds)
        return bool(found)

    def tell_stacks(self) -> None:
        """Have it write into its log what each of its threads is at."""
        with suppress(OSError):
            os.kill(self.pid, signal.SIGUSR1)
        time.sleep(TELLING_SECONDS)

    def end(self) -> None:
        """Kill it if it is not over."""
        with suppress(OSError, StageFailed):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(OSError):
            self._words.close()
        self._socket.close()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class Victims:
    """A process that forks them, and those that wait. `kept` of them are made ahead."""

    def __init__(
        self, name: str, *, directory: Path, logs: Path, env: Mapping[str, str], kept: int
    ) -> None:
        """Name the directory of the socket; nothing is started yet."""
        self.path = directory / f"{name}.sock"
        self.kept = kept
        self._service = Service(
            name=name,
            command=within("tests.trials.cuts.victim", str(self.path)),
            log=logs / f"{name}.log",
            env=env,
            cwd=ROOT,
        )
        self._waiting: deque[Victim] = deque()

    def __enter__(self) -> Self:
        """Start, and make the first."""
        self._service.start()
        wait_for(
            lambda: self._service.pid is None or self._service.is_ready(), "victims", self._service
        )
        self._refill()
        return self

    def __exit__(self, *_how: object) -> None:
        """End all of it."""
        while self._waiting:
            self._waiting.popleft().end()
        self._service.end()

    def take(self) -> Victim:
        """Return one that is ready; where they are kept, one that its neighbours know by now."""
        if not self.kept:
            return Victim(self.path)
        self._refill()
        victim = self._waiting.popleft()
        self._refill()
        time.sleep(max(0.0, victim.asked_at + KNOWN_AFTER_SECONDS - time.monotonic()))
        return victim

    def _refill(self) -> None:
        while len(self._waiting) < self.kept:
            self._waiting.append(Victim(self.path))
