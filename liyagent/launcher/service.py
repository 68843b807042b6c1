"""A long-running child of `up`: started, watched, started again when it dies, stopped with its group."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from liyagent.launcher.children import signal_group, start_child

BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
# One that lived this long had started well: the next death begins the backoff anew.
STEADY_SECONDS = 30.0
TAIL_BYTES = 2000


@dataclass(slots=True, kw_only=True)
class Service:
    """One child and its history. `ready_port` answers GET /health/ready; without it the log says `ready`."""

    name: str
    command: Sequence[str | Path]
    log: Path
    env: Mapping[str, str]
    cwd: Path
    ready_port: int | None = None
    deaths: int = 0
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _started: float = field(default=0.0, init=False)
    _due: float = field(default=0.0, init=False)
    _seen: int = field(default=0, init=False)

    def start(self) -> None:
        """Start the child; its log goes on where it was."""
        self._seen = self.log.stat().st_size if self.log.exists() else 0
        self._child = start_child(self.command, log=self.log, env=self.env, cwd=self.cwd)
        self._started = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.pid if self._child and self._child.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How the child ended; None while it runs."""
        return self._child.poll() if self._child else None

    def is_ready(self) -> bool:
        """Whether it listens and says so."""
        if self.ready_port is None:
            return "ready" in self.tail().split()
        connection = http.client.HTTPConnection("127.0.0.1", self.ready_port, timeout=2)
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def tail(self) -> str:
        """Return the end of what it has written since it was started."""
        written = self.log.read_bytes()[self._seen :] if self.log.exists() else b""
        return written[-TAIL_BYTES:].decode(errors="replace").strip()

    def tend(self) -> str | None:
        """Start the child again if it died and its backoff has passed; return what there is to tell."""
        now = time.monotonic()
        if self._child is None:
            if now >= self._due:
                self.start()
            return None
        code = self._child.poll()
        if code is None:
            return None
        signal_group(
            self._child, signal.SIGKILL
        )  # what it started must not run beside its successor
        self._child = None
        self.deaths = 0 if now - self._started > STEADY_SECONDS else self.deaths
        wait = BACKOFF_SECONDS[min(self.deaths, len(BACKOFF_SECONDS) - 1)]
        self.deaths += 1
        self._due = now + wait
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"{self.name} ended {how}; starting it again in {wait:g} s (log: {self.log})"

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the child; it drains and passes it on to its own children."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Kill what is left of the child and its group, and reap it."""
        if self._child is None:
            return
        signal_group(self._child, signal.SIGKILL)
        self._child.wait()
        self._child = None
