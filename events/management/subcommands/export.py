"""`manage.py events export`: an evidence pack of a run or of a mission."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from events.chains_of import chain_named
from events.management.subcommand import Subcommand
from events.pack import Subject, mission_subject, run_subject, write_pack
from events.signing import signing_key
from events.verify_pack import Pins, Refused, Told, check, lines_of
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.tables import visible
from missions.names import clean_mission


def add_arguments(parser: CommandParser) -> None:
    """Add what it is about, and where it goes."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--run", help="the run; its whole chain goes along, its root's where it is a sub-agent's"
    )
    which.add_argument("--mission", help="all runs of this mission")
    parser.add_argument(
        "--out", default="", help="a new file; by default evidence-... in this directory"
    )
    parser.add_argument(
        "--since-root",
        type=int,
        default=0,
        help="show that the record has grown out of this older root",
    )


def export(command: BaseCommand, options: dict[str, Any]) -> None:
    """Write the pack and check it as an auditor does; one line says what it holds. Raises `CommandError` where it does not hold."""
    if options["since_root"] < 0:
        raise BadInput("--since-root wants the number of a root")
    subject = _subject(options)
    ((kind, name),) = subject.named.items()
    out = Path(options["out"] or f"evidence-{kind}-{name.replace(':', '_')}.jsonl")
    told = _written(subject, out, since=options["since_root"])
    command.stdout.write(f"{out}: {told.line()}")


def _subject(options: dict[str, Any]) -> Subject:
    if options["run"]:
        chain = chain_named(options["run"])
        return run_subject(UUID(options["run"]), chain)
    mission = clean_mission(options["mission"])
    if mission is None:
        raise BadInput(f"{visible(options['mission'])[:80]!r} is no mission's id")
    return mission_subject(mission)


def _written(subject: Subject, out: Path, *, since: int) -> Told:
    """Whole or not at all, and never over another file. Only who asks may read it: it can hold words."""
    if out.exists():
        raise Conflict(f"{out} is there already; name another file with --out")
    handle, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:80]}.")
    try:
        with os.fdopen(handle, "w+b") as file:
            write_pack(subject, file, since=since)
            file.flush()
            os.fsync(handle)
            file.seek(0)
            told = check(lines_of(file), Pins(frozenset({signing_key().public})))
        os.link(draft, out)
    except Refused as refused:
        raise CommandError(f"not exported: {refused}; see `manage.py events verify`") from None
    finally:
        os.unlink(draft)
    return told


SUBCOMMAND = Subcommand(
    name="export",
    help="write an evidence pack of a run or a mission, which verify_pack.py checks",
    arguments=add_arguments,
    carry_out=export,
)
