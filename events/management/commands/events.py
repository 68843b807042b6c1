"""The record of events, at the shell."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from events.management.subcommands import accept_rollback, export, key, purge, verify

# One line a subcommand, in the order in which the help tells of them.
SUBCOMMANDS = (
    verify.SUBCOMMAND,
    purge.SUBCOMMAND,
    export.SUBCOMMAND,
    key.SUBCOMMAND,
    accept_rollback.SUBCOMMAND,
)
BY_NAME = {it.name: it for it in SUBCOMMANDS}


class Command(BaseCommand):
    """One subcommand a verb."""

    help = f"The record of events: {' | '.join(BY_NAME)}"

    def add_arguments(self, parser: CommandParser) -> None:
        """Each subcommand adds its own."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        for it in SUBCOMMANDS:
            it.arguments(verbs.add_parser(it.name, help=it.help))

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        BY_NAME[options["verb"]].carry_out(self, options)
