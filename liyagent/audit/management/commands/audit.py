"""`manage.py audit`: what was done and by whom, an export of it, and confidential concerns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.audit.concerns import close_concern, list_concerns, open_concern
from liyagent.audit.export import begin_export
from liyagent.audit.listing import SELECTED, page_of_audit
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.paging import MOST_PAGE, PAGE
from liyagent.core.tables import aligned

HEADS = ("ID", "AT", "ACTION", "ACTOR", "AGENT", "MISSION", "RUN", "REQUEST", "ADDRESS")
FACTS = ("id", "at", "action", "actor", "agent", "mission", "run_id", "request_id", "address")
CONCERN_HEADS = ("ID", "ABOUT", "SUBJECT", "REFERENCE", "OPENED BY", "OPENED", "CLOSED BY", "CLOSED")  # fmt: skip
CONCERN_FACTS = ("id", "about", "subject", "reference", "opened_by", "opened_at", "closed_by", "closed_at")  # fmt: skip
TOLD = {
    "mission": "what was done for a mission",
    "action": "an action, and what lies below it: agent.run is also agent.run.ended",
    "actor": "who did it, such as ann, cli:root or agent:triage",
    "agent": "the agent that did it, or in whose run it was done",
    "run": "the id of a run",
    "since": "from this time on, with its zone",
    "until": "before this time, with its zone",
}
PROGRESS_ROWS = 10_000


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Audit: list [filters] [--cursor C] | export [filters] [--after N] [--out FILE] | concerns [--state S] "
        "| open-concern [--actor A | --mission M] [--reference R] | close-concern ID"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="the newest rows")
        listed.add_argument("--limit", default=str(PAGE), help=f"at most {MOST_PAGE}")
        listed.add_argument("--cursor", default="", help="what a page's last line named")
        export = verbs.add_parser(
            "export", help="JSON lines, oldest first; the last one says that it is whole"
        )
        export.add_argument(
            "--after", type=int, default=0, help="go on behind the row of this number"
        )
        export.add_argument("--out", type=Path, help="a file that is not there yet; by default standard output")  # fmt: skip
        for verb in (listed, export):
            for name in SELECTED:
                verb.add_argument(f"--{name}", default="", help=TOLD[name])
        concerns = verbs.add_parser("concerns", help="confidential concerns, newest first")
        concerns.add_argument("--state", default="", help="open or closed")
        opened = verbs.add_parser("open-concern", help="have rows written without their stamps")
        about = opened.add_mutually_exclusive_group(required=True)
        about.add_argument("--actor", default="", help="about what somebody does")
        about.add_argument("--mission", default="", help="about a mission")
        opened.add_argument("--reference", default="", help="where its words are kept, such as a case number")  # fmt: skip
        close = verbs.add_parser("close-concern", help="have rows written with their stamps again")
        close.add_argument("id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb'].replace('-', '_')}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        page = page_of_audit(_given(options, (*SELECTED, "limit", "cursor")))
        rows = [[getattr(it, name) for name in FACTS] for it in page.rows]
        self.stdout.write(aligned(HEADS, rows))
        if page.next_cursor:
            self.stdout.write(f"there are more: --cursor {page.next_cursor}")

    def _export(self, options: dict[str, Any]) -> None:
        if options["out"] is None:
            self._write_export(options, sys.stdout.buffer)
            return
        try:
            with options["out"].open("xb") as file:
                self._write_export(options, file)
        except FileExistsError:
            raise BadInput(f"{options['out']} is there already; name a file that is not") from None

    def _write_export(self, options: dict[str, Any], file: IO[bytes]) -> None:
        """What is told of the progress goes to standard error."""
        export = begin_export(
            _given(options, SELECTED), actor=operator_name(), after=options["after"]
        )
        told = 0
        for lines in export.lines():
            file.write(lines)
            if export.rows - told >= PROGRESS_ROWS:
                told = export.rows
                self.stderr.write(f"{told} rows, up to number {export.after} of {export.upto}")
        file.flush()
        self.stderr.write(f"{export.rows} rows; go on with --after {export.after}")

    def _concerns(self, options: dict[str, Any]) -> None:
        page = list_concerns({**_given(options, ("state",)), "limit": str(MOST_PAGE)})
        rows = [[getattr(it, name) for name in CONCERN_FACTS] for it in page.rows]
        self.stdout.write(aligned(CONCERN_HEADS, rows))
        if page.next_cursor:
            self.stdout.write("there are more")

    def _open_concern(self, options: dict[str, Any]) -> None:
        names = ("actor", "mission", "reference")
        concern = open_concern(opened_by=operator_name(), **{it: options[it] for it in names})
        self.stdout.write(f"concern {concern.pk} about {concern.about} {concern.subject} is open")

    def _close_concern(self, options: dict[str, Any]) -> None:
        concern = close_concern(options["id"], closed_by=operator_name())
        self.stdout.write(f"concern {concern.pk} is closed")


def _given(options: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: options[name] for name in names if options[name]}
