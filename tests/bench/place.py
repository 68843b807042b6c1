"""Where the bench is measured: a PostgreSQL of its own with default durability, and the program inside it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liyagent.core.conf import new_seal_key
from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.errors import StartFailed
from liyagent.launcher.users import server_user

DATABASE = "liyagent"
# A checkpoint in the middle of a cell would add full pages to its log: none is due while we measure.
UNDISTURBED = {"checkpoint_timeout": "1h", "max_wal_size": "8GB"}
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements"}


class BenchFailed(LiyagentError):
    """The bench could not be measured."""

    code = "bench.failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A server, and whether it counts statements."""

    cluster: Cluster
    has_statements: bool
    directory: Path

    def measure(self, *arguments: str) -> str:
        """Run the program inside on this database and return what it wrote. Raises `BenchFailed`."""
        command = [sys.executable, "-m", "tests.bench.inside", *arguments]
        if self.has_statements:
            command.append("--statements")
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise BenchFailed(f"{' '.join(command[2:])} ended with {ended.returncode}")
        return ended.stdout

    def told(self, cell: str, *arguments: str) -> Any:
        """Measure one of the program's cells and return what its last line says."""
        return json.loads(self.measure(cell, *arguments).splitlines()[-1])

    def environment(self) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LIYAGENT_", "TICKETIQ_"))
        }
        return {
            **inherited,
            "DATABASE_URL": self.cluster.url(DATABASE),
            "DJANGO_SETTINGS_MODULE": "liyagent.settings",
            "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
            "LIYAGENT_SEAL_KEYS": new_seal_key(),
            "LIYAGENT_STATE_DIR": str(self.directory),
            "LIYAGENT_LOG_LEVEL": "ERROR",
            "LIYAGENT_ALLOWED_HOSTS": "localhost,127.0.0.1",
        }


@contextmanager
def place() -> Iterator[Place]:
    """Start the server, with pg_stat_statements where it has it; all is removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="liyagent-bench-"))
    try:
        user = server_user()
        os.chown(directory, user.uid, user.gid)
        with _cluster(directory) as cluster:
            cluster.create_database(DATABASE)
            has_statements = "shared_preload_libraries" in cluster.settings
            yield Place(cluster=cluster, has_statements=has_statements, directory=directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _cluster(directory: Path) -> Cluster:
    counting = Cluster(directory / "data", settings={**UNDISTURBED, **STATEMENTS})
    try:
        counting.start()
        counting.stop()
    except StartFailed:
        return Cluster(directory / "plain", settings=UNDISTURBED)
    return counting
