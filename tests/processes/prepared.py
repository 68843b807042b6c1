"""What every place starts from: a data directory that is migrated and seeded. Made once a session, and copied."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import psycopg

from liyagent.core.conf import new_seal_key
from liyagent.demo.vendors.process import VendorProcess
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.databases import is_made_here
from tests.memory import place_in_memory
from tests.trials.stage import Stage

NAME = "prepared-place"
ANOTHER_CLOCK = """
    CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT clock_timestamp() - interval '5 hours' $$
"""
MOVE = "UPDATE gateway_toolserver SET url = replace(url, %s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Data to copy, the secrets that they were made with, an API key, and where the vendors were."""

    data: str
    secrets: dict[str, str]
    token: str
    vendors: str

    def copy(self, data_dir: Path) -> None:
        """Make `data_dir`, of a cluster that was not started yet, with its owner and modes."""
        subprocess.run(["cp", "-a", self.data, data_dir], check=True)

    def move(self, database_url: str, vendors: str) -> None:
        """Let the tools be where these vendors are. No process runs yet."""
        with psycopg.connect(database_url) as connection:
            connection.execute(MOVE, [self.vendors, vendors])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what was written there."""
        return cls(**json.loads(path.read_text()))


def prepared(env: Mapping[str, str]) -> Prepared:
    """Return what is prepared; who asks first makes it, with `env` and secrets of its own."""
    place = Path(os.environ["LIYAGENT_STATE_DIR"], NAME)
    told = place / "told.json"
    with is_made_here(NAME) as is_first:
        if is_first:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            told.write_text(json.dumps(asdict(_prepare(place, env))))
    return Prepared.read(told)


def _prepare(place: Path, env: Mapping[str, str]) -> Prepared:
    """Not below the state directory: the server's user may not enter it."""
    made = {
        "LIYAGENT_SECRET_KEY": secrets.token_urlsafe(48),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ADMIN_PASSWORD": secrets.token_urlsafe(12),
    }
    with tempfile.TemporaryDirectory(prefix="liyagent-prepared-", dir=place_in_memory()) as name:
        directory, user = Path(name), server_user()
        os.chown(directory, user.uid, user.gid)
        with (
            VendorProcess(directory / "ledgers") as vendors,
            Cluster(directory / "data") as cluster,
        ):
            cluster.create_database(DATABASE)
            url = cluster.url(DATABASE)
            stage = Stage(
                cluster=cluster,
                vendors=vendors,
                env={**env, **made, "DATABASE_URL": url},
                logs=directory,
            )
            stage.manage("migrate", "--no-input")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(ANOTHER_CLOCK)
            stage.manage("seed", f"--vendors={vendors.url}", "--no-runs")
            token = stage.manage("apikeys", "create", "tests", "--user=admin", "--days=1")
        subprocess.run(["cp", "-a", cluster.data_dir, place / "data"], check=True)
    return Prepared(data=str(place / "data"), secrets=made, token=token, vendors=vendors.url)
