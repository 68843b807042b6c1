"""`manage.py sources`: what agents search, and a sync by hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.jobs.sources.models import Document, Source, SourceKind
from liyagent.jobs.sources.save import TIMES, find_source, remove_source, save_source
from liyagent.jobs.sources.standing import counts, last_syncs
from liyagent.jobs.sources.sync import ask_sync

HEADS = ("SOURCE", "KIND", "WHAT", "AGENTS", "DOCUMENTS", "LAST SYNC", "NEXT SYNC", "WHY")
DOCUMENT_HEADS = ("PATH", "TITLE", "FETCHED")
MOST_LISTED = 1000
WHAT = {
    "folder": (SourceKind.FOLDER, "a folder below LIYAGENT_SOURCE_ROOTS"),
    "url": (SourceKind.URLS, "an address; again for each"),
    "server": (SourceKind.MCP, "the key of a tool server, whose resources are read"),
}


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Sources: list | save KEY (--folder F | --url U ... | --server S) --agent A ... | sync KEY | "
        "documents KEY | remove KEY"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every source, its documents and its last sync")
        save = verbs.add_parser("save", help="keep a source; what is left out stays")
        save.add_argument("key")
        what = save.add_mutually_exclusive_group()
        for name, (_, told) in WHAT.items():
            what.add_argument(f"--{name}", action="append" if name == "url" else "store", help=told)
        save.add_argument(
            "--agent",
            action="append",
            help="an agent that may search it, or a pattern such as 'ops-*'; again for each",
        )
        save.add_argument("--schedule", help="when it is synced: five fields, such as '30 2 * * *'; '' for never")  # fmt: skip
        save.add_argument("--timezone", help="of the schedule, such as Europe/Berlin")
        for verb, told in (
            ("sync", "have its documents brought in step, by any process"),
            ("documents", "its documents by path"),
            ("remove", "forget a source and its documents"),
        ):
            verbs.add_parser(verb, help=told).add_argument("key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        sources = list(Source.objects.all()[:MOST_LISTED])
        syncs, documents = last_syncs(sources), counts(sources)
        rows = []
        for it in sources:
            last = syncs.get(it.key)
            what = ", ".join(map(str, next(iter(it.settings.values())) if it.kind == SourceKind.URLS else it.settings.values()))  # fmt: skip
            told = (last.status if last else "", it.next_slot, it.problem or (last.reason if last else ""))  # fmt: skip
            rows.append((it.key, it.kind, what, ", ".join(it.agents), documents.get(it.id, 0), *told))  # fmt: skip
        self.stdout.write(aligned(HEADS, rows))

    def _save(self, options: dict[str, Any]) -> None:
        given: dict[str, Any] = {}
        for name, (kind, _) in WHAT.items():
            if options[name] is not None:
                given |= {"kind": kind.value, "settings": {"urls" if name == "url" else name: options[name]}}  # fmt: skip
        if options["agent"] is not None:
            given["agents"] = options["agent"]
        given |= {name: options[name] for name in TIMES if options[name] is not None}
        source = save_source(options["key"], given, actor=operator_name())
        agents = ", ".join(source.agents) or "no agent"
        self.stdout.write(visible(f"{source.key}: kept; {agents} may search it once it is synced"))

    def _sync(self, options: dict[str, Any]) -> None:
        asked = ask_sync(options["key"], asked_by=operator_name())
        told = "is asked for" if asked.is_new else f"is {asked.job.status} already"
        self.stdout.write(f"{options['key']}: job {asked.job.id} {told}")

    def _documents(self, options: dict[str, Any]) -> None:
        rows = Document.objects.filter(source=find_source(options["key"])).order_by("path")
        found = rows.values_list("path", "title", "fetched_at")[:MOST_LISTED]
        self.stdout.write(aligned(DOCUMENT_HEADS, list(found)))

    def _remove(self, options: dict[str, Any]) -> None:
        remove_source(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: removed")
