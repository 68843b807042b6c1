"""Copies of the tree, guards taken out of them, and tests run in them on a database server of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from liyagent.core.errors import LiyagentError
from liyagent.launcher.ephemeral import DATABASE, ephemeral_cluster
from tests.guards.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".liyagent", "__pycache__", "*_cache", "staticfiles", "docs"
)
FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
# A busy machine is no reason to call a guard unshown; what hangs without its guard waits this long.
TIMEOUT_SECONDS = 90
SOME_FAILED = 1
TAIL_CHARACTERS = 1500


class GuardMoved(LiyagentError):
    """The code that a guard's diff looks for is not there exactly once: the diff has to follow the code."""

    code = "guards.moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a run of pytest ended: its exit code, the ids that failed, and its last words."""

    code: int
    failed: tuple[str, ...]
    tail: str

    @property
    def is_green(self) -> bool:
        """Whether everything passed."""
        return self.code == 0

    def is_red(self, test: str) -> bool:
        """Whether that very test failed; an error of a fixture or of a collection is no proof."""
        return self.code == SOME_FAILED and any(
            it == test or it.startswith(f"{test}[") for it in self.failed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One copy, and the server that its tests use."""

    place: Path
    database_url: str

    def take_out(self, guard: Guard) -> None:
        """Apply the guard's diff. Raises `GuardMoved`."""
        path = self.place / guard.file
        text = path.read_text()
        if text.count(guard.search) != 1:
            raise GuardMoved(guard=guard.name, file=guard.file, found=text.count(guard.search))
        path.write_text(text.replace(guard.search, guard.replace))

    def put_back(self, guard: Guard) -> None:
        """Make the file what it was."""
        shutil.copy2(ROOT / guard.file, self.place / guard.file)

    def run(self, tests: Sequence[str]) -> Ran:
        """Run these tests here."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rf",
            "--tb=line",
            "-p",
            "no:cacheprovider",
        ]
        command += ["-o", f"timeout={TIMEOUT_SECONDS}", *dict.fromkeys(tests)]
        env = {**os.environ, "DATABASE_URL": self.database_url, "PYTHONDONTWRITEBYTECODE": "1"}
        ended = subprocess.run(
            command, cwd=self.place, env=env, capture_output=True, text=True, check=False
        )
        return Ran(
            code=ended.returncode,
            failed=tuple(FAILED.findall(ended.stdout)),
            tail=(ended.stdout + ended.stderr)[-TAIL_CHARACTERS:].strip(),
        )


@contextmanager
def copied_tree(directory: Path) -> Iterator[Tree]:
    """Copy the tree to `directory` and start a server beside it."""
    shutil.copytree(ROOT, directory, ignore=NOT_COPIED)
    with ephemeral_cluster() as cluster:
        yield Tree(place=directory, database_url=cluster.url(DATABASE))
