"""`manage.py events purge`: purge now what is due, as each process does by itself; or say what would go."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from events.management.subcommand import Subcommand
from events.purge import Purged, purge_events, purgeable_events
from events.retention import least_days
from liyagent.core.operator import operator_name

TOLD_EVERY_SECONDS = 2.0


def add_arguments(parser: CommandParser) -> None:
    """Whether only to count."""
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be purged, and purge nothing"
    )


def purge(command: BaseCommand, options: dict[str, Any]) -> None:
    """Purge, telling now and then how far it is. Raises `CommandError` where another purge is at it, or a chain is odd."""
    days = settings.LIYAGENT.run_events_retention_days
    if not days:
        command.stdout.write("TICKETIQ_RUN_EVENTS_RETENTION_DAYS is 0: events are kept for good")
        return
    told_at = time.monotonic()

    def tell(done: Purged) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > TOLD_EVERY_SECONDS:
            told_at = time.monotonic()
            command.stderr.write(f"{done.chains} chains, {done.events} events so far")

    if options["dry_run"]:
        done, verb = purgeable_events(tell=tell), "would be purged"
    else:
        done, verb = purge_events(actor=operator_name(), tell=tell), "purged"
    least = least_days()
    kept = f"kept for {max(days, least)} days" if least else "kept for good"
    command.stdout.write(f"{done.chains} chains, {done.events} events {verb}; {kept}")
    if done.unsealed:
        command.stdout.write(f"{done.unsealed} chains more are in no root yet, and wait for one")
    if not done.is_whole:
        raise CommandError("another purge is under way: it goes on")
    if done.odd:
        raise CommandError(
            f"{done.odd} chains that rested long enough are kept: their events are not those that their heads tell of; "
            "`events verify --all` says more"
        )


SUBCOMMAND = Subcommand(
    name="purge",
    help="purge chains whose last event is older than TICKETIQ_RUN_EVENTS_RETENTION_DAYS, each with a certificate",
    arguments=add_arguments,
    carry_out=purge,
)
