"""`manage.py events key`: what whoever checks evidence pins."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from events.identity import database_id
from events.management.subcommand import Subcommand
from events.roots import NotOurRoot, newest_root
from events.signing import signing_keys


def add_arguments(_parser: CommandParser) -> None:
    """It takes none."""


def show(command: BaseCommand, _options: dict[str, Any]) -> None:
    """Print the database, the newest root, and the public halves of all keys of ours, the one that signs first."""
    command.stdout.write(f"database {database_id()}")
    command.stdout.write(f"newest root {_newest()}")
    for index, key in enumerate(signing_keys()):
        command.stdout.write(f"key {key.public} {key.key_id}{'' if index else ' signs'}")


def _newest() -> str:
    """Keys are asked for where sealing has stopped, too."""
    try:
        return str(newest_root().number)
    except NotOurRoot as error:
        return f"is none of ours: {error}"


SUBCOMMAND = Subcommand(
    name="key",
    help="print the public keys that roots and packs are signed with, to be pinned",
    arguments=add_arguments,
    carry_out=show,
)
