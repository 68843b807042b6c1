"""`manage.py classifier`: train one, see how good it is, and ask it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import read_text
from liyagent.core.operator import operator_name
from liyagent.core.plain import NotStorable, parse_json
from liyagent.core.tables import aligned, visible
from liyagent.training.classifiers.admin import share
from liyagent.training.classifiers.ask import ask_training
from liyagent.training.classifiers.classify import classify, remove_classifier
from liyagent.training.classifiers.examples import MOST, checked
from liyagent.training.classifiers.models import Classifier
from liyagent.training.spans import span_of

HEADS = ("CLASSIFIER", "VERSION", "TOLD RIGHT", "HELD OUT", "BASELINE", "TRAINED ON", "LABELS")
MOST_LISTED = 500


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Classifiers: list | train KEY (FILE | --runs) | classify KEY TEXT | remove KEY"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every version, and how good it was")
        train = verbs.add_parser("train", help="have one more version trained, by any process")
        train.add_argument("key")
        train.add_argument("file", nargs="?", help='JSONL: {"text": "...", "label": "..."} a line')
        train.add_argument("--runs", action="store_true", help="learn from tasks of past runs which agent they belong to")  # fmt: skip
        train.add_argument("--agent", action="append", default=[], help="of these agents alone; again for each")  # fmt: skip
        for name in ("since", "until"):
            train.add_argument(f"--{name}", default="", help="of the runs: 2026-11-01, or 2026-11-01T08:00:00Z")  # fmt: skip
        ask = verbs.add_parser("classify", help="which label a text fits")
        ask.add_argument("key")
        ask.add_argument("text")
        verbs.add_parser("remove", help="forget every version").add_argument("key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        rows = [
            (it.key, it.version, share(it.accuracy), it.measured_on, share(it.baseline), it.trained_on, ", ".join(it.labels)[:200])
            for it in Classifier.objects.defer("sealed")[:MOST_LISTED]
        ]  # fmt: skip
        self.stdout.write(aligned(HEADS, rows))

    def _train(self, options: dict[str, Any]) -> None:
        if bool(options["file"]) == options["runs"]:
            raise BadInput("it wants either a file of examples or --runs")
        facts: dict[str, Any] = {"examples": _examples(options["file"])} if options["file"] else {"runs": _runs(options)}  # fmt: skip
        asked = ask_training(options["key"], asked_by=operator_name(), **facts)
        told = "is asked for" if asked.is_new else f"is {asked.job.status} already"
        self.stdout.write(f"{options['key']}: job {asked.job.id} {told}; see: jobs show {asked.job.id}")  # fmt: skip

    def _classify(self, options: dict[str, Any]) -> None:
        found = classify(options["key"], options["text"])
        for label, probability in found.likeliest:
            self.stdout.write(visible(f"{probability:6.1%}  {label}"))

    def _remove(self, options: dict[str, Any]) -> None:
        count = remove_classifier(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: {count} versions removed")


def _examples(path: str) -> list[tuple[str, str]]:
    given: list[Any] = []
    for number, line in enumerate(read_text(Path(path)).splitlines(), start=1):
        if not line.strip():
            continue
        if len(given) == MOST:
            raise BadInput(f"{path}: has more than {MOST} examples")
        try:
            given.append(parse_json(line.encode()))
        except NotStorable as error:
            raise BadInput(f"{path}: line {number}: {error}") from None
    return checked(given)


def _runs(options: dict[str, Any]) -> dict[str, Any]:
    since, until = span_of(options["since"], options["until"])
    return {"since": since, "until": until, "agents": options["agent"]}
