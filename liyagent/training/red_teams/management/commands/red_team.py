"""`manage.py red_team`: try an agent with prompts that try to misuse it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.jobs.admin import progress_of
from liyagent.training.red_teams.ask import CALLS, TOKENS, ask_red_team
from liyagent.training.red_teams.prompts import all_prompts, kinds
from liyagent.training.red_teams.report import evidence_of, find_red_team, findings_of


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Red teams: start AGENT | report JOB [--evidence] | prompts"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        start = verbs.add_parser("start", help="have an agent tried, by any process")
        start.add_argument("agent")
        start.add_argument("--kind", action="append", default=[], help=f"of {', '.join(kinds())}; again for each; by default all")  # fmt: skip
        start.add_argument("--most-calls", type=int, default=CALLS, help="questions to the model at most")  # fmt: skip
        start.add_argument("--most-tokens", type=int, default=TOKENS, help="tokens after which nothing is asked")  # fmt: skip
        report = verbs.add_parser("report", help="what was found so far")
        report.add_argument("job")
        report.add_argument("--evidence", action="store_true", help="with what was said where a rule was broken")  # fmt: skip
        verbs.add_parser("prompts", help="what agents are tried with")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _start(self, options: dict[str, Any]) -> None:
        asked = ask_red_team(
            options["agent"], asked_by=operator_name(), only=options["kind"],
            most_calls=options["most_calls"], most_tokens=options["most_tokens"],
        )  # fmt: skip
        told = "is asked for" if asked.is_new else f"is {asked.job.status} already"
        self.stdout.write(f"{options['agent']}: job {asked.job.id} {told}; see: red_team report {asked.job.id}")  # fmt: skip

    def _report(self, options: dict[str, Any]) -> None:
        job = find_red_team(options["job"])
        findings = findings_of(job)
        self.stdout.write(visible(f"{job}: {job.status}, {progress_of(job)} prompts. {job.reason}").rstrip())  # fmt: skip
        self.stdout.write(aligned(("PROMPT", "KIND", "VERDICT", "WHY"), [(it.prompt, it.kind, it.verdict, it.why) for it in findings]))  # fmt: skip
        for finding in findings if options["evidence"] else ():
            if finding.verdict == "broken":
                self.stdout.write(f"\n{finding.prompt}")
                for said in evidence_of(finding):
                    calls = "".join(f"\n    calls {it['tool']} {it['args']}" for it in said.get("calls", ()))  # fmt: skip
                    self.stdout.write(visible(f"  {said['role']}: {said['text']}{calls}"))

    def _prompts(self, _options: dict[str, Any]) -> None:
        rows = [(it.id, it.kind, it.forbids, it.task) for it in all_prompts()]
        self.stdout.write(aligned(("PROMPT", "KIND", "FORBIDS", "TASK"), rows))
