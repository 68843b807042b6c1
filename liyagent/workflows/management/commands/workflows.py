"""Validate, save, list, show and remove workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.plain import NotJson, NotStorable, parse_json
from liyagent.core.tables import aligned, visible
from liyagent.workflows.listing import find_version, find_workflow
from liyagent.workflows.load import read_workflows_file, save_workflows_files, written
from liyagent.workflows.models import Workflow
from liyagent.workflows.remove import remove_workflow
from liyagent.workflows.signal import send_signal
from liyagent.workflows.start import start_workflow
from liyagent.workflows.words import steps_told
from runs.await_end import wait_for_end
from runs.management.commands.runs import (
    ENTRY,
    WAIT_SECONDS,
    check_may_operate,
    print_end,
    run_id_of,
)


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Workflows: validate FILE... | save FILE... | list | show KEY [--version N] [--yaml] | "
        "run KEY [--input JSON] --user USER [--wait] | signal RUN NAME [--payload JSON] | remove KEY"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        validate = verbs.add_parser("validate", help="say what is wrong in files; nothing is saved")
        validate.add_argument("files", nargs="+", metavar="file")
        save = verbs.add_parser("save", help="save every workflow of some files, or none")
        save.add_argument("files", nargs="+", metavar="file")
        verbs.add_parser("list", help="every workflow")
        show = verbs.add_parser("show", help="one workflow, step by step")
        show.add_argument("key")
        show.add_argument("--version", dest="number", type=int, help="as it was at this version")
        show.add_argument("--yaml", action="store_true", help="as save reads it")
        run = verbs.add_parser("run", help="start a run; a running `serve` carries it")
        run.add_argument("key")
        run.add_argument("--input", default="{}", help="JSON, or @FILE of JSON")
        run.add_argument("--user", default="", help="on whose behalf; by default nobody's")
        run.add_argument("--wait", action="store_true", help="until it ended; print its answer")
        signal = verbs.add_parser("signal", help="tell a run what one of its steps waits for")
        signal.add_argument("run")
        signal.add_argument("name")
        signal.add_argument("--payload", default="null", help="JSON, or @FILE of JSON")
        remove = verbs.add_parser("remove", help="remove a workflow whose runs have all ended")
        remove.add_argument("key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _validate(self, options: dict[str, Any]) -> None:
        wrong = []
        for path in options["files"]:
            given, told = read_workflows_file(path)
            for line in told:
                self.stdout.write(visible(line))
            if told:
                wrong.append(path)
            for it in given if not told else ():
                steps = len(it["definition"]["steps"])
                self.stdout.write(f"{path}: {it['key']}: well, {steps} steps")
        if wrong:
            raise BadInput(f"{', '.join(wrong)} cannot be saved as written")

    def _save(self, options: dict[str, Any]) -> None:
        for row in save_workflows_files(options["files"], actor=operator_name()):
            self.stdout.write(f"{row.key} version {row.version}")

    def _list(self, options: dict[str, Any]) -> None:
        rows = Workflow.objects.select_related("agent").defer("definition").order_by("key")
        heads = ("KEY", "VERSION", "AGENT", "STATE", "NAME")
        lines = [(it.key, it.version, it.agent.key, _state(it), it.name) for it in rows.iterator()]
        self.stdout.write(aligned(heads, lines))

    def _show(self, options: dict[str, Any]) -> None:
        row = find_workflow(options["key"])
        if options["number"] is not None:
            was = find_version(row.key, max(options["number"], 0))
            row.version, row.definition = was.number, was.definition
            row.agent = Agent(key=was.agent_key)
        head = f"# version {row.version}, agent {row.agent.key}, {_state(row)}"
        self.stdout.write(head)
        if options["yaml"]:
            self.stdout.write(written([row]), ending="")
        else:
            self.stdout.write(visible(row.name))
            self.stdout.write(steps_told(row.definition))

    def _run(self, options: dict[str, Any]) -> None:
        check_may_operate(options["user"])
        started = start_workflow(
            key=options["key"],
            given=_json(options["input"], "--input"),
            entry=ENTRY,
            started_by=options["user"],
            mission="",
            request_id="",
        )
        self.stdout.write(str(started.run_id))
        if options["wait"]:
            wait_for_end(started.run_id, seconds=WAIT_SECONDS)
            print_end(started.run_id, self.stdout)

    def _signal(self, options: dict[str, Any]) -> None:
        payload = _json(options["payload"], "--payload")
        signal = send_signal(
            run_id=run_id_of(options["run"]),
            name=options["name"],
            payload=payload,
            actor=operator_name(),
        )
        self.stdout.write(f"signal {signal.name} is kept for run {signal.run_id}")

    def _remove(self, options: dict[str, Any]) -> None:
        remove_workflow(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']} is removed")


def _json(text: str, option: str) -> Any:
    """What an option gives as JSON, or as the name of a file of it. Raises `BadInput`."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{option}: {text[1:]} cannot be read: {error}") from None
    try:
        return parse_json(text)
    except (NotJson, NotStorable) as error:
        raise BadInput(f"{option}: {error}") from None


def _state(row: Workflow) -> str:
    return "enabled" if row.is_enabled else "switched off"
