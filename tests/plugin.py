"""Set the environment, and start an ephemeral PostgreSQL, before pytest-django reads the settings.

Loaded by `-p tests.plugin`. The controller of xdist does it once; its workers inherit the environment.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from liyagent.launcher.ephemeral import DATABASE, ephemeral_cluster
from tests.databases import drop_ours
from tests.memory import place_in_memory, remove_orphans

# Durations of the field cases are scaled down here; the real ones run in the trials.
ENVIRONMENT = {
    "LIYAGENT_SECRET_KEY": "only-for-tests-" + "x" * 40,
    "LIYAGENT_SEAL_KEYS": "k1:" + base64.b64encode(bytes(range(32))).decode(),
    "LIYAGENT_LEASE_SECONDS": "1.0",
    "LIYAGENT_SWEEP_SECONDS": "0.2",
    "LIYAGENT_WATCH_SECONDS": "0.05",
    "LIYAGENT_POLL_SECONDS": "0.05",
    "LIYAGENT_LATE_LOOK_SECONDS": "0.3",
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1,localhost",
}
# How many kill trials are played, and at which moments, and mutants tried: asked of the tests themselves.
ASKED = frozenset(
    f"LIYAGENT_{it}" for it in ("KILL_TRIALS", "KILL_SEED", "MUTANTS", "MUTANTS_SEED")
)
# A test that counts log bytes still finds them while other tests write.
# Three workers, each of which may run two app processes with a pool and a cluster of their own.
SETTINGS = {"wal_keep_size": "1GB", "max_connections": "300"}
MARKERS = (
    "promise(id): the promise of the product that this test proves",
    "field(id): the field case that this test covers",
)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """As a wrapper this runs before pytest-django's own `tryfirst` hook, which reads the settings."""
    for marker in MARKERS:
        early_config.addinivalue_line("markers", marker)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _prepare(early_config)
    return (yield)


def _prepare(config: pytest.Config) -> None:
    stack = ExitStack()
    config.add_cleanup(stack.close)
    for name in [name for name in os.environ if name.startswith(("LIYAGENT_", "TICKETIQ_"))]:
        if name not in ASKED:
            del os.environ[name]  # what the developer's shell sets must not change what is tested
    state_dir = tempfile.mkdtemp(prefix="liyagent-tests-")
    stack.callback(shutil.rmtree, state_dir, ignore_errors=True)
    os.environ.update(ENVIRONMENT, LIYAGENT_STATE_DIR=state_dir)
    if not os.environ.get("DATABASE_URL"):
        below = place_in_memory()
        if below is not None:
            remove_orphans(below)
        cluster = stack.enter_context(ephemeral_cluster(settings=SETTINGS, below=below))
        os.environ["DATABASE_URL"] = cluster.url(DATABASE)
        stack.callback(os.environ.pop, "DATABASE_URL", None)
    else:
        stack.callback(drop_ours, os.environ["DATABASE_URL"])
