"""`manage.py cluster`: the django-q2 cluster, as `serve` starts it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from liyagent.core.database import cut_off_who_is_silent
from liyagent.core.unpickling import refuse_unpickling
from runs.cluster import run_cluster
from runs.directness import check_directness


class Command(BaseCommand):
    """Runs queued jobs until SIGTERM."""

    help = "Run queued jobs. `serve` starts one of its own; more may run anywhere over the same database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose child it is."""
        parser.add_argument("--parent", type=int, help="the process to die with")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Exit with 0 after SIGTERM, with 1 when a process of the cluster was killed."""
        refuse_unpickling()
        cut_off_who_is_silent()
        if options["parent"] is None:  # its `serve` has looked
            check_directness()
        sys.exit(run_cluster(parent=options["parent"]))
