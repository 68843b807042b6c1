"""`manage.py fine_tune`: a model from what an agent said."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import visible
from liyagent.training.fine_tunes.ask import PROVIDER, Wanted, ask_fine_tune, wanted_of
from liyagent.training.fine_tunes.collect import look_through
from liyagent.training.fine_tunes.tune import FEWEST_LINES


class Command(BaseCommand):
    """Ask for a fine-tuning, or see what it would take."""

    help = "Fine-tune a model with the transcripts of an agent that were recorded in full"

    def add_arguments(self, parser: CommandParser) -> None:
        """What is tuned, where, and of which time."""
        parser.add_argument("agent")
        parser.add_argument("--model", required=True, help="what is tuned, as the endpoint calls it")  # fmt: skip
        parser.add_argument("--provider", default=PROVIDER, choices=[PROVIDER])
        parser.add_argument(
            "--endpoint-of",
            default="",
            metavar="AGENT",
            help="the agent whose endpoint and key are used; by default the agent itself, or the only one of the provider",
        )
        for name, told in (("since", "runs begun from then on"), ("until", "and before then; by default now")):  # fmt: skip
            parser.add_argument(f"--{name}", default="", help=f"{told}: 2026-11-01, or 2026-11-01T08:00:00Z")  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="only say what would be taken")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, or look."""
        names = ("model", "provider", "endpoint_of", "since", "until")
        wanted = wanted_of(options["agent"], **{name: options[name] for name in names})
        if options["dry_run"]:
            self._look(wanted)
            return
        asked = ask_fine_tune(wanted, asked_by=operator_name())
        told = "is asked for" if asked.is_new else f"is {asked.job.status} already"
        self.stdout.write(f"{wanted.agent}: job {asked.job.id} {told}; see: jobs show {asked.job.id}")  # fmt: skip

    def _look(self, wanted: Wanted) -> None:
        found = look_through(wanted)
        self.stdout.write(f"{found.total} runs of {wanted.agent} from {wanted.since} up to {wanted.until}")  # fmt: skip
        self.stdout.write(f"{found.lines} transcripts, about {found.tokens} tokens, {found.bytes} bytes; {found.starred} secrets starred out")  # fmt: skip
        for reason, count in sorted(found.skipped.items()):
            self.stdout.write(visible(f"skipped: {count} {reason}"))
        self.stdout.write(f"to {wanted.base_url or 'OpenAI'}, with the key in {wanted.api_key_env or 'no variable'}, from {wanted.model}")  # fmt: skip
        if found.lines < FEWEST_LINES:
            self.stdout.write(f"too few: it takes {FEWEST_LINES} transcripts at least")
