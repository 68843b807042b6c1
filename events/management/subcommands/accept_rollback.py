"""`manage.py events accept-rollback`: a person takes it upon them that the database was put back."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from events.management.subcommand import Subcommand
from events.rollback import accept_rollback
from liyagent.core.operator import operator_name


def add_arguments(parser: CommandParser) -> None:
    """Add why."""
    parser.add_argument("--reason", required=True, help="why; it stands in the next root")


def accept(command: BaseCommand, options: dict[str, Any]) -> None:
    """Accept it; a release of everything is a step of its own."""
    number = accept_rollback(actor=operator_name(), reason=options["reason"])
    command.stdout.write(
        f"accepted; root {number} tells so. Everything is contained until `manage.py agents release --all`"
    )


SUBCOMMAND = Subcommand(
    name="accept-rollback",
    help="accept that the database stands behind what was exported of it; a release comes after",
    arguments=add_arguments,
    carry_out=accept,
)
