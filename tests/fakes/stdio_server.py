"""A tool server by stdio for a test: a registered command, its memory, and what it is told to do next."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from liyagent.gateway.commands import Command
from liyagent.gateway.contracts import Address

PROGRAM = Path(__file__).with_name("stdio_program.py")


@dataclass(slots=True)
class StdioServer:
    """The directory that the program keeps its ledger in; it outlives the program.

    What the next request for a tool or of a method may be told: `together` (it goes on once so many of that kind
    have come), `before` and `after` (seconds), `die_before` and `die_after` the work, `silent`, `rpc_error` (a code), `raw` (the text of the result), `first` (lines
    said before), `garbage` (a number of lines that are no messages), `flood` (a line without end). Of the next
    `start`: `exit` (a code), `say_stderr`, `deaf` (reads nothing), `helper` (starts a process of its own).
    """

    here: Path
    server: str = "jira"
    env: tuple[str, ...] = ()
    _told: int = field(default=0)

    def __post_init__(self) -> None:
        """Make its directory."""
        (self.here / "next").mkdir(parents=True)

    @property
    def command(self) -> Command:
        """The registered command."""
        return Command(
            name="fake",
            command=sys.executable,
            args=("-S", str(PROGRAM), str(self.here)),
            env=self.env,
        )

    @property
    def address(self) -> Address:
        """Where calls reach it."""
        return Address(server=self.server, transport="stdio", command="fake")

    def next(self, name: str, **told: Any) -> None:
        """Say what happens to the next request for this tool or of this method, or at the next `start`."""
        self._told += 1
        file = self.here / "next" / f"{name.replace('/', '_')}-{self._told:04}"
        draft = file.with_name(f"draft-{self._told}")
        draft.write_text(json.dumps(told))
        draft.rename(file)

    def memory(self, what: str) -> list[dict[str, Any]]:
        """Return what it remembered: `starts`, `helpers`, `received`, `ledger`."""
        file = self.here / what
        # A line that is being written is no line yet.
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        return [json.loads(line) for line in lines]

    def effects(self, tool: str) -> list[dict[str, Any]]:
        """The times that `tool` ran."""
        return [row for row in self.memory("ledger") if row["tool"] == tool]

    def calls(self, tool: str) -> list[dict[str, Any]]:
        """The parameters of each tools/call for `tool` that arrived."""
        asked = [it["params"] for it in self.memory("received") if it.get("method") == "tools/call"]
        return [params for params in asked if params["name"] == tool]
