"""The vendors in a process of their own, and the questions a judge asks of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.launcher.children import signal_group, start_child

VENDORS = ("incident", "jira", "servicenow")
START_SECONDS = 30.0
STOP_SECONDS = 5.0
LOOK_SECONDS = 0.05
ROOT = Path(__file__).resolve().parents[3]


class VendorsFailed(LiyagentError):
    """The demo vendors did not start."""

    code = "demo.vendors_failed"


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listened on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class VendorProcess:
    """The three vendors on one port, their ledgers in `directory`; they end with us."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        before_ms: float = 25,
        after_ms: float = 25,
    ) -> None:
        """Name the ledgers' directory; without `port` a free one is taken."""
        self.directory = directory
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._pace = (f"--before-ms={before_ms}", f"--after-ms={after_ms}")
        self._child: subprocess.Popen[bytes] | None = None
        self._http = httpx2.Client(base_url=self.url, timeout=10)

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Start and wait until they listen. Raises `VendorsFailed` with what the process said."""
        self.directory.mkdir(parents=True, exist_ok=True)
        log = self.directory / "vendors.log"
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "liyagent.demo.vendors", f"--port={self.port}"]
        command += [f"--ledger={self.directory}", *self._pace]
        self._child = start_child(command, log=log, env=os.environ, cwd=ROOT)
        deadline = time.monotonic() + START_SECONDS
        while "ready" not in log.read_text().splitlines():
            if self._child.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise VendorsFailed(f"the vendors did not start: {log.read_text().strip()[-500:]}")
            time.sleep(LOOK_SECONDS)

    def stop(self) -> int | None:
        """End them in good order (killed after 5 s) and return the exit code; None if they were not started."""
        self._http.close()
        if self._child is None:
            return None
        self._child.terminate()
        try:
            self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        return self._child.returncode

    def kill(self) -> None:
        """SIGKILL; what they had committed stays in the ledgers."""
        if self._child is not None:
            signal_group(self._child, signal.SIGKILL)
            self._child.wait()

    def set_pace(self, vendor: str, *, before_ms: float, after_ms: float) -> None:
        """Change how long `vendor`'s writes take before and after they take effect."""
        wish = {"vendor": vendor, "before_ms": before_ms, "after_ms": after_ms}
        self._http.post("/control", json=wish).raise_for_status()

    def ledger(self, vendor: str) -> dict[str, Any]:
        """Return everything that `vendor` remembers: `requests` and `effects`."""
        answer = self._http.get(f"/ledger/{vendor}").raise_for_status()
        found: dict[str, Any] = answer.json()
        return found
