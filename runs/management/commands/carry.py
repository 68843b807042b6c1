"""`manage.py carry RUN`: one run in a process of its own."""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from liyagent.core.database import cut_off_who_is_silent
from liyagent.core.logs import log_context
from liyagent.core.unpickling import refuse_unpickling
from runs.carry import Carriage, die_alone
from runs.directness import check_directness
from runs.durability import check_durability
from runs.models import Run

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Carries one queued run until it ends, goes back to the queue or is taken over."""

    help = "Carry one queued run alone. `serve` starts it for a run that was lost twice."
    # What it needs is checked by name below; all the rest costs a second that each run would pay.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which run, and whose child it is."""
        parser.add_argument("run", help="the run's id")
        parser.add_argument("--parent", type=int, help="the process that passes SIGTERM on")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Exit with 0 also where the run is not to be had: another process was first."""
        run_id = _known(options["run"])
        refuse_unpickling()
        cut_off_who_is_silent()
        die_alone(settings.LIYAGENT.carry_memory_mb)
        check_durability(allow_unsafe=settings.LIYAGENT.allow_unsafe_durability)
        check_directness()
        connection.close()
        with log_context(run_id=str(run_id)):
            if not Carriage(run_id, parent=options["parent"]).carry():
                logger.info("not carried here: the run is not queued, or not due")


def _known(text: str) -> UUID:
    """Return the id of a run that exists. Raises `CommandError`."""
    try:
        run_id = UUID(text)
    except ValueError:
        raise CommandError(f"run {text[:80]!r}: it wants the id of a run") from None
    if not Run.objects.filter(id=run_id).exists():
        raise CommandError(f"there is no run {run_id}")
    return run_id
