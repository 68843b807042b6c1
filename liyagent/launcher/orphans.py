"""What a killed `up` left running: remembered while it runs, ended by its successor, by number and start time.

The kernel tells each child when its supervisor dies, but an app process then drains for half a minute without its
database, on a port that the successor needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from liyagent.launcher.processes import Life, life_of
from liyagent.launcher.state import write_private

# They were told by the kernel; whatever they can still hand over takes no longer.
GRACE_SECONDS = 3.0
KILL_SECONDS = 5.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The file in the state directory that names the children that run."""

    path: Path

    def keep(self, pids: Mapping[str, int | None]) -> None:
        """Write down which children run, by name."""
        lives = {name: life_of(pid) for name, pid in pids.items() if pid is not None}
        told = {name: asdict(life) for name, life in lives.items() if life is not None}
        write_private(self.path, json.dumps(told))

    def forget(self) -> None:
        """Everything was stopped in order."""
        self.path.unlink(missing_ok=True)

    def left(self) -> dict[str, Life]:
        """Return the children that still run although their supervisor is gone. The caller holds the state's lock."""
        try:
            told = json.loads(self.path.read_text())
            lives = {str(name): Life(**life) for name, life in told.items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            return {}  # none was left, or it was cut: whoever holds a port is named then
        return {name: life for name, life in lives.items() if not life.is_over}


def end_left(record: Record, *, say: Callable[[str], None]) -> None:
    """End what the supervisor before left, with all that these processes started in their groups."""
    left = record.left()
    if not left:
        return
    names = ", ".join(f"{name} (process {life.pid})" for name, life in left.items())
    say(f"the `up` before was killed; waiting for what it left: {names}")
    _wait_for_ends(left, seconds=GRACE_SECONDS)
    for life in left.values():
        if not life.is_over:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(life.pid, signal.SIGKILL)
    _wait_for_ends(left, seconds=KILL_SECONDS)


def _wait_for_ends(left: Mapping[str, Life], *, seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up and not all(it.is_over for it in left.values()):
        time.sleep(LOOK_SECONDS)
