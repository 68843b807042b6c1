"""`manage.py serve`: one app process."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from events.export_roots import compare_at_start
from liyagent.agents.registered import require_hooks
from liyagent.core.database import cut_off_who_is_silent
from liyagent.core.errors import BadSetting
from liyagent.core.unpickling import refuse_unpickling
from runs.directness import check_directness
from runs.durability import check_durability
from runs.process import Process

HIGHEST_PORT = 65_535


class Command(BaseCommand):
    """Serves the API and the console, and carries runs, until SIGTERM."""

    help = "Serve the API and the console and carry runs. Run two or more over one database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--no-cluster", action="store_true", help="leave queued jobs to the clusters of others"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Check what must hold, then serve; a refusal is one line."""
        refuse_unpickling()
        cut_off_who_is_silent()
        host, port = options["host"], options["port"]
        check_address(host, port)
        _check_migrations()
        check_durability(allow_unsafe=settings.LIYAGENT.allow_unsafe_durability)
        check_directness()
        require_hooks()
        compare_at_start()
        connection.close()
        Process(host=host, port=port, has_cluster=not options["no_cluster"]).serve()


def check_address(host: str, port: int) -> None:
    """Refuse what cannot be listened on. Raises `CommandError`."""
    if not 0 < port <= HIGHEST_PORT:
        raise CommandError(f"--port {port}: it wants 1 to {HIGHEST_PORT}")
    if not host.strip():
        raise CommandError(
            "--host is empty; it wants an address, 0.0.0.0 for every one of this machine"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}") from None
        except (TypeError, ValueError):
            raise CommandError(
                f"--host {host[:80]!r}: it wants the name or address of this machine"
            ) from None


def _check_migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise BadSetting("the database is not migrated; run `manage.py migrate` first")
