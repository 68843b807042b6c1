"""`manage.py jobs`: what is worked on in the background, how far it is, and an end to it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.jobs.admin import outcome_of, why_of
from liyagent.jobs.ask import find_job
from liyagent.jobs.end import cancel_job
from liyagent.jobs.models import Job, JobStatus

HEADS = ("JOB", "KIND", "SUBJECT", "STATUS", "DONE", "TOTAL", "WHY")


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Jobs: list [--status S] [--kind K] [--limit N] | show ID | cancel ID"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="newest first")
        listed.add_argument("--status", choices=JobStatus.values)
        listed.add_argument("--kind")
        listed.add_argument(
            "--limit", type=int, default=50, choices=range(1, 1001), metavar="1..1000"
        )
        for verb, told in (
            ("show", "one job, how far it is and which process has it"),
            ("cancel", "end a job; what its steps kept stays"),
        ):
            verbs.add_parser(verb, help=told).add_argument("id")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        wanted = {name: options[name] for name in ("status", "kind") if options[name]}
        rows = [
            (it.id, it.kind, it.subject, it.status, it.done, "" if it.total is None else it.total, why_of(it))
            for it in Job.objects.filter(**wanted)[: options["limit"]]
        ]  # fmt: skip
        self.stdout.write(aligned(HEADS, rows))

    def _show(self, options: dict[str, Any]) -> None:
        job = find_job(options["id"])
        total = "" if job.total is None else f" of {job.total}"
        facts = {
            "job": job.id,
            "kind": job.kind,
            "subject": job.subject,
            "status": job.status,
            "done": f"{job.done}{total}",
            "words": job.words,
            "reason": job.reason,
            "asked by": job.asked_by,
            "mission": job.mission,
            "attempt": job.attempt,
            "losses": job.losses,
            "holder": job.claimed_by or "",
            "created": job.created_at.isoformat(),
            "started": job.started_at.isoformat() if job.started_at else "",
            "ended": job.ended_at.isoformat() if job.ended_at else "",
        }
        facts |= dict(outcome_of(job))
        width = max(9, *map(len, facts))
        self.stdout.write("\n".join(visible(f"{name:{width}} {value}").rstrip() for name, value in facts.items()))  # fmt: skip

    def _cancel(self, options: dict[str, Any]) -> None:
        job = cancel_job(options["id"], actor=operator_name())
        self.stdout.write(visible(f"{job}: cancelled after {job.done} steps"))
