"""`manage.py serve`: one app process."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from liyagent.core.errors import BadSetting
from liyagent.core.unpickling import refuse_unpickling
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
        host, port = options["host"], options["port"]
        _check_port(host, port)
        _check_migrations()
        check_durability(allow_unsafe=settings.LIYAGENT.allow_unsafe_durability)
        connection.close()
        Process(host=host, port=port, has_cluster=not options["no_cluster"]).serve()


def _check_port(host: str, port: int) -> None:
    if not 0 < port <= HIGHEST_PORT:
        raise CommandError(f"--port {port}: it wants 1 to {HIGHEST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def _check_migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise BadSetting("the database is not migrated; run `manage.py migrate` first")
