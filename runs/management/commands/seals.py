"""Sealing keys: which are needed, and how an old one is made free to go."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned
from runs.reseal import Resealed, reseal
from runs.seals import KeyUse, key_uses

HEADS = (
    "KEY", "HERE", "KNOWN BY", "RUNNING", "QUEUED", "WAITING", "PAUSED", "ENDED", "REQUESTS", "OTHERS", "MAY GO",
)  # fmt: skip


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Sealing keys: report | reseal"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("report", help="how many runs each key seals, and which processes know it")
        verbs.add_parser("reseal", help="seal all that rests with the newest key of this ring")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")()

    def _report(self) -> None:
        self.stdout.write(aligned(HEADS, [_row(it) for it in key_uses()]))

    def _reseal(self) -> None:
        told = reseal(actor=operator_name(), on_progress=self._tell)
        self.stdout.write(
            f"sealed anew {told.done} runs, {told.requests} requests and {told.rows} others; {told.left} are running or looked for once more, "
            f"{told.broken} do not open with this ring"
        )
        if told.left or told.broken:
            raise CommandError(
                "an older key is still needed: run this again later, and see `seals report`"
            )

    def _tell(self, told: Resealed) -> None:
        self.stderr.write(f"{told.done} sealed anew, {told.left} left, {told.broken} not opened")


def _row(use: KeyUse) -> tuple[Any, ...]:
    here = "seals" if use.seals else "opens" if use.is_here else "no"
    known = f"{use.known_by} of {use.processes}"
    runs = (use.running, use.queued, use.waiting, use.paused, use.ended, use.requests, use.rows)
    return use.key_id, here, known, *runs, "no" if use.is_needed or use.seals else "yes"
