"""`manage.py mine_routines`: have agents' recent runs looked through for what they do the same way every time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from liyagent.agents.models import Agent, Recording
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from routines.ask import ask_mining, find_agent
from routines.compiled import Compiled
from routines.mine import Mined, would_offer
from routines.offer import Offer

HEADS = ("TOOLS", "RUNS", "TASKS", "PARAMETERS", "DIGEST", "WHAT")
LONGEST_TOOLS, DIGITS = 60, 12


class Command(BaseCommand):
    """Asks for jobs that any process carries; with `--dry-run` it looks itself, and nothing is written."""

    help = "Mine an agent's runs for routines, or those of each agent that is recorded in full."

    def add_arguments(self, parser: CommandParser) -> None:
        """The agent, and whether to look only."""
        parser.add_argument("agent", nargs="?", default="", help="by default each that is recorded in full")  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="print what would be offered, and write nothing")  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, or look."""
        keys = self._keys(options["agent"])
        first = next(keys, "")
        if not first:
            raise CommandError("no agent is recorded in full: there is nothing to mine")
        for key in (first, *keys) if not options["dry_run"] else ():
            asked = ask_mining(key, asked_by=operator_name())
            told = "is asked for" if asked.is_new else f"is {asked.job.status} already"
            self.stdout.write(f"{key}: job {asked.job.id} {told}; see: jobs show {asked.job.id}")
        if options["dry_run"]:
            self._look(first)
            for key in keys:
                self._look(key)

    def _keys(self, agent: str) -> Iterator[str]:
        if agent:
            yield find_agent(agent).key
            return
        full = Agent.objects.filter(recording=Recording.FULL).order_by("key")
        yield from full.values_list("key", flat=True).iterator()

    def _look(self, key: str) -> None:
        mined = Mined()
        rows = [_row(it) for it in would_offer(key, mined, tell=self._tell)]
        self._tell(None)
        self.stdout.write(f"{key}: {mined.looked_at} runs were looked at, {mined.counted} count; nothing is written.")  # fmt: skip
        self.stdout.write(aligned(HEADS, rows) if rows else "No pattern was seen often enough.")
        for reason, count in sorted(mined.skipped.items()):
            self.stdout.write(visible(f"  {count} skipped: {reason}"))
        for it in mined.named:
            self.stdout.write(visible(f"  run {it.run_id}: {it.reason}"))

    def _tell(self, mined: Mined | None) -> None:
        """How far it is, where a person looks on."""
        if sys.stderr.isatty():
            self.stderr.write(f"\r{mined.looked_at} runs read" if mined else "\r", ending="")


def _row(offer: Offer) -> tuple[str, ...]:
    compiled, known = offer.compiled, offer.known
    tools = compiled.tools if compiled else known.tools if known else [offer.group.pattern]
    shown = " > ".join(tools)
    of_it = (
        (str(compiled.distinct_inputs), _names(compiled), compiled.digest[:DIGITS])
        if compiled
        else ("-", "-", "-")
    )
    cut = shown if len(shown) <= LONGEST_TOOLS else f"{shown[: LONGEST_TOOLS - 1]}…"
    return (cut, str(offer.group.count), *of_it, _what(offer))


def _names(compiled: Compiled) -> str:
    return ", ".join(it.name for it in compiled.parameters) or "-"


def _what(offer: Offer) -> str:
    if offer.known is not None and offer.compiled is None:
        return f"{offer.change.value}: {offer.known.state}"
    if offer.compiled is not None and offer.compiled.withheld:
        return f"not offered: {offer.compiled.withheld}"
    return offer.change.value
