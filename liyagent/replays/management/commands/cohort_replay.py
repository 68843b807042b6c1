"""`manage.py cohort_replay`: try another model, provider or instructions on an agent's past runs, and end with a code that a pipeline reads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from liyagent.core.files import read_text
from liyagent.core.operator import operator_name
from liyagent.core.plain import json_bytes
from liyagent.core.tables import visible
from liyagent.replays.ask import Wanted, ask_replay, wanted_replay
from liyagent.replays.await_end import Progress, await_replay
from liyagent.replays.listing import find_replay, results_of
from liyagent.replays.models import CohortReplay, ReplayStatus, Verdict
from liyagent.replays.report_text import estimate_text, report_text
from liyagent.replays.serializers import CohortReplayToldSerializer, EstimateSerializer
from liyagent.replays.verdict import standing_of_verdict

# A process that starts with this command has time to come up.
PATIENCE_SECONDS = 20
BAR = 30
REGRESSED, WRONG, INTERRUPTED = 1, 2, 130
TRIED = ("model", "provider", "base_url", "api_key_env")


class Command(BaseCommand):
    """Ends with 0 where all is the same or changed, 1 where a run regressed, 2 where there is no verdict that verifies."""

    help = "Replay an agent's past runs under another model, provider or instructions; nothing is executed. Ends with 0: same or changed; 1: regressed; 2: no verdict."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is tried, on which runs, and what it may cost."""
        parser.add_argument("agent")
        parser.add_argument("--model")
        parser.add_argument("--provider")
        parser.add_argument("--base-url")
        parser.add_argument("--api-key-env", help="the name of the variable that holds the key")
        said = parser.add_mutually_exclusive_group()
        said.add_argument("--instructions")
        said.add_argument("--instructions-file", type=Path, help="a file with the instructions")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--limit", type=int, help="so many of its most recent runs; 20 by default, 50 at most")  # fmt: skip
        which.add_argument("--run", action="append", help="the id of a run; again for each")
        parser.add_argument("--baseline", type=int, default=0, help="so often each run is replayed with the unchanged agent too")  # fmt: skip
        parser.add_argument("--strict", action="store_true", help="a call is answered by the very same recorded one, or not at all")  # fmt: skip
        parser.add_argument("--most-calls", type=int, default=0, help="model calls; 0 for no cap")
        parser.add_argument("--most-tokens", type=int, default=0, help="in and out; 0 for no cap")
        parser.add_argument("--estimate", action="store_true", help="say what it costs; nothing is kept or sent")  # fmt: skip
        parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
        parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="seconds to wait for a process that carries it")  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask for it, wait for it, and tell what came of it."""
        wanted = _wanted(options)
        is_json = options["output"] == "json"
        if options["estimate"]:
            self._tell(EstimateSerializer(wanted).data if is_json else estimate_text(wanted))
            return
        replay = self._carried(wanted, patience_seconds=options["patience"])
        results = results_of(replay)
        if is_json:
            self._tell(CohortReplayToldSerializer(replay, context={"results": results}).data)
        else:
            self._tell(report_text(replay, results))
        if code := _code(replay):
            sys.exit(code)

    def _carried(self, wanted: Wanted, *, patience_seconds: float) -> CohortReplay:
        asked = ask_replay(wanted, asked_by=operator_name())
        replay, bar = asked.replay, _Bar(self.stderr)
        if not asked.is_new:
            bar.say(f"the very same goes on already: cohort replay {replay.id}")
        try:
            is_ended = await_replay(replay.id, tell=bar.show, patience_seconds=patience_seconds)
        except KeyboardInterrupt:
            bar.say(f"cohort replay {replay.id} goes on without this command; to end it: manage.py jobs cancel {replay.job_id}")  # fmt: skip
            sys.exit(INTERRUPTED)
        bar.end()
        if not is_ended:
            self._wrong(
                f"no process is there to carry it: cohort replay {replay.id} waits for one; start one with manage.py serve, "
                "and type the same again to wait for it"
            )
        return find_replay(replay.id)

    def _tell(self, told: Any) -> None:
        self.stdout.write(told if isinstance(told, str) else json_bytes(told).decode())

    def _wrong(self, line: str) -> NoReturn:
        self.stderr.write(visible(line))
        sys.exit(WRONG)


class _Bar:
    """How far it is, on one line of a terminal, else in a line for each change."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._last = ""

    def show(self, progress: Progress) -> None:
        """Show it."""
        full = BAR * progress.done // progress.total
        line = f"[{'#' * full}{'.' * (BAR - full)}] {progress.words}"
        if line == self._last:
            return
        # What stood there and was longer is written over.
        over = " " * max(0, len(self._last) - len(line))
        shown, ending = (f"\r{line}{over}", "") if self._is_terminal else (line, "\n")
        self._out.write(shown, str, ending)
        self._out.flush()
        self._last = line

    def say(self, line: str) -> None:
        """Say something on a line of its own."""
        self.end()
        self._out.write(visible(line), str)

    def end(self) -> None:
        """Leave the line."""
        if self._is_terminal and self._last:
            self._out.write("")
        self._last = ""


def _wanted(options: dict[str, Any]) -> Wanted:
    override = {name: options[name] for name in TRIED if options[name] is not None}
    if options["instructions_file"] is not None:
        override["instructions"] = read_text(options["instructions_file"])
    elif options["instructions"] is not None:
        override["instructions"] = options["instructions"]
    runs: Sequence[str] | None = options["run"]
    if not override:
        raise CommandError("nothing is tried: give --model, --provider, --instructions, --base-url or --api-key-env", returncode=WRONG)  # fmt: skip
    return wanted_replay(
        options["agent"],
        override=override,
        runs=runs,
        limit=options["limit"],
        strict=options["strict"],
        baseline=options["baseline"],
        most_calls=options["most_calls"],
        most_tokens=options["most_tokens"],
        may_choose_endpoint=True,
    )


def _code(replay: CohortReplay) -> int:
    if replay.status != ReplayStatus.DONE or not replay.verdict:
        return WRONG
    if not standing_of_verdict(replay, with_results=True).is_verified:
        return WRONG
    return REGRESSED if replay.verdict == Verdict.REGRESSED else 0
