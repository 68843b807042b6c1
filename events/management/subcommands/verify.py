"""`manage.py events verify`: whether the record is what was written."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from events.chains_of import chain_named
from events.checking import CHECKS, FIRST, Asked, Finding, Looked
from events.management.subcommand import Subcommand
from liyagent.core.errors import BadInput
from liyagent.core.tables import cell, visible

TOLD_EVERY_SECONDS = 2.0
MILLISECOND = 80
A_TIME = "wants a time with its zone, such as 2026-01-31T09:30:00Z"


def add_arguments(parser: CommandParser) -> None:
    """Add what is looked at: all, where nothing is said."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", help="the chain of this run, or of this correlation id")
    which.add_argument("--since", help=f"chains begun then or later; {A_TIME}")
    which.add_argument("--all", action="store_true", help="all chains, as without any of these")


def verify(command: BaseCommand, options: dict[str, Any]) -> None:
    """Tell each thing that is wrong in a line. Raises `CommandError` where anything was changed."""
    asked = asked_by(options)
    breaks = lacks = 0
    told: dict[str, Looked] = {}
    told_at = time.monotonic()
    for check in CHECKS:
        for it in check(asked):
            if isinstance(it, Finding):
                breaks += it.is_break
                lacks += not it.is_break
                command.stdout.write(line_of(it))
                continue
            told[it.check] = it
            if time.monotonic() - told_at > TOLD_EVERY_SECONDS:
                told_at = time.monotonic()
                command.stderr.write(f"{_looked(it)} so far")
    looked = "; ".join(_looked(it) for it in told.values()) or "nothing to look at"
    if breaks:
        raise CommandError(f"{looked}: {breaks} broken, {lacks} incomplete")
    command.stdout.write(f"{looked}: intact, {lacks} incomplete")


def asked_by(options: dict[str, Any]) -> Asked:
    """Return the chains that are asked for. Raises `BadInput`, `NotFound`."""
    if options["run"]:
        chain = chain_named(options["run"])
        return Asked(first=chain, last=chain)
    if options["since"]:
        return Asked(first=first_chain_since(options["since"]))
    return Asked()


def first_chain_since(text: str) -> UUID:
    """Return the lowest id that a chain begun then can have: its first 48 bits are milliseconds. Raises `BadInput`."""
    try:
        moment: datetime | None = parse_datetime(text) if text.isascii() else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadInput(f"--since is {visible(text)[:80]!r}; it {A_TIME}")
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=max(milliseconds, 0) << MILLISECOND) if milliseconds > 0 else FIRST


def line_of(finding: Finding) -> str:
    """Return a finding in a line that no stored text can break."""
    word = "BROKEN" if finding.is_break else "INCOMPLETE"
    return f"{word} {cell(finding.where)}: {finding.reason}: {cell(finding.sentence)}"


def _looked(it: Looked) -> str:
    events = f", {it.events} events" if it.events else ""
    return f"{it.chains} {it.check}{events}"


SUBCOMMAND = Subcommand(
    name="verify",
    help="whether the record is what was written: one line a thing that is wrong, and a non-zero exit where it was changed",
    arguments=add_arguments,
    carry_out=verify,
)
