"""List, show, start and stop runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser, OutputWrapper

from events.content import some_list
from liyagent.access.errors import UserUnknown
from liyagent.access.permissions import OPERATE
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, cell, visible
from liyagent.gateway.outcome import Fate
from runs.await_end import wait_for_end
from runs.errors import NotAnswered
from runs.go_on import GoingOn, continuations_of, continue_run
from runs.head import answer_of, calls_of, lease_of, run_head, takeovers_of
from runs.kin import children_of
from runs.listing import list_runs
from runs.models import Run, RunStatus
from runs.start import start_run
from runs.stop import stop_run
from runs.transcript import read_transcript
from runs.waits import wait_of

ENTRY = "cli"
LIST_HEADS = (
    "ID",
    "STATUS",
    "AGENT",
    "STEPS",
    "LOSSES",
    "UNKNOWN",
    "MISSION",
    "CREATED",
    "WAITS FOR",
)
LIST_FACTS = (
    "id", "status", "agent_key", "model_steps", "losses", "unknown_writes", "mission", "created_at",
)  # fmt: skip
CALL_HEADS = ("STEP", "CALL", "EFFECT", "FATE", "SETTLEMENT", "SETTLED")
CHILD_HEADS = ("CHILD", "AGENT", "STATUS", "REASON", "STARTED", "ENDED")
CHILD_FACTS = ("id", "agent", "status", "reason", "created_at", "ended_at")
UNKNOWN_HEADS = ("UNKNOWN", "MARKED", "LOOKED FOR AGAIN", "ID", "STEP KEY")
UNKNOWN_ADVICE = (
    "Look at the vendor for the step key, or for what was made since the mark. Nothing is sent again. Then say what happened: "
    "`manage.py doubts happened ID --reason R --user USER`, or `did-not`."
)
WAIT_ADVICE = "It waits for a person: `manage.py approvals show {0}`, then `manage.py approvals approve {0} --reason R --user USER`, or `reject`."
HEAD_FACTS = (
    "id", "status", "reason", "agent_key", "agent_version", "entry", "started_by", "mission", "request_id",
    "parent_id", "attempt", "losses", "model_steps", "unknown_writes", "input_tokens", "output_tokens", "stop_requested",
    "created_at", "taken_at", "ended_at",
)  # fmt: skip
WAIT_SECONDS = 3600


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Runs: list | show ID [--words] | stop ID --reason R | resume ID --user USER [--word W] | start AGENT --task T --user USER [--wait]"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="the newest runs")
        listed.add_argument("--status")
        listed.add_argument("--agent")
        show = verbs.add_parser("show", help="all that is known of a run")
        show.add_argument("id")
        show.add_argument("--words", action="store_true", help="task, conversation and answer too")
        stop = verbs.add_parser("stop", help="end a run at its next step")
        stop.add_argument("id")
        stop.add_argument("--reason", required=True)
        resume = verbs.add_parser("resume", help="go on from a run that ended without an answer")
        resume.add_argument("id")
        resume.add_argument("--word", default="", help="for the agent, behind its task")
        resume.add_argument(
            "--despite-unknown",
            action="store_true",
            help="though writes of it are of unknown outcome",
        )
        resume.add_argument("--user", default="", help="on whose behalf; by default nobody's")
        resume.add_argument("--wait", action="store_true", help="until it ended; print its answer")
        start = verbs.add_parser("start", help="start a run; a running `serve` carries it")
        start.add_argument("agent")
        start.add_argument("--task", required=True)
        start.add_argument("--user", default="", help="on whose behalf; by default nobody's")
        start.add_argument("--wait", action="store_true", help="until it ended; print its answer")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        page = list_runs({name: options[name] for name in ("status", "agent") if options[name]})
        waits = {run_id: wait.told for run_id, wait in page.waits.items()}
        rows = [[*(getattr(it, name) for name in LIST_FACTS), waits.get(it.id)] for it in page.runs]
        self.stdout.write(aligned(LIST_HEADS, rows))

    def _show(self, options: dict[str, Any]) -> None:
        run = run_head(run_id_of(options["id"]))
        lease = lease_of(run)
        facts = [(name, getattr(run, name)) for name in HEAD_FACTS]
        wait = wait_of(run)
        if wait:
            facts.append(("waits for", wait.told))
        if lease:
            facts.append(("lease", f"{lease['holder']} until {cell(lease['until'])}"))
        if run.continues:
            facts.append(("continues", run.continues))
        facts += [("continued by", it.id) for it in continuations_of(run)]
        facts += [("taken over", told_takeover(row)) for row in takeovers_of(run)]
        self.stdout.write(aligned(("FACT", "VALUE"), facts))
        calls, is_truncated = calls_of(run)
        rows = [
            (
                f"{it['step']}.{it['index']}",
                f"{it['server']}/{it['tool']}",
                it["effect"],
                it["fate"] or "under way",
                "; ".join(filter(None, (it["decision"], it["settlement"]))),
                it["settled_at"],
            )
            for it in calls
        ]
        if rows:
            self.stdout.write("\n" + aligned(CALL_HEADS, rows))
        self._show_children(run)
        unknown = [
            (
                f"{it['step']}.{it['index']}",
                it["marked_at"],
                it.get("late_finding") or "not yet",
                it.get("id"),
                it["step_key"],
            )
            for it in calls
            if it["fate"] == Fate.UNKNOWN.value
        ]
        if unknown:
            self.stdout.write(f"\n{aligned(UNKNOWN_HEADS, unknown)}\n{UNKNOWN_ADVICE}")
        if wait and wait.approval:
            self.stdout.write(f"\n{WAIT_ADVICE.format(wait.approval)}")
        if is_truncated:
            self.stdout.write("there are more calls")
        if options["words"]:
            self.stdout.write("\n" + told_words(read_transcript(run)))

    def _show_children(self, run: Run) -> None:
        children, has_more = children_of(run)
        if children:
            rows = [[it[name] for name in CHILD_FACTS] for it in children]
            self.stdout.write("\n" + aligned(CHILD_HEADS, rows))
        if has_more:
            self.stdout.write(f"there are more children: `GET /api/runs?parent={run.id}`")

    def _stop(self, options: dict[str, Any]) -> None:
        run = stop_run(
            run_id=run_id_of(options["id"]), actor=operator_name(), reason=options["reason"]
        )
        self.stdout.write(f"{run.id} stops at its next step")

    def _start(self, options: dict[str, Any]) -> None:
        check_may_operate(options["user"])
        started = start_run(
            agent_key=options["agent"],
            task=options["task"],
            entry=ENTRY,
            started_by=options["user"],
            mission="",
            request_id="",
        )
        self.stdout.write(str(started.run_id))
        if options["wait"]:
            wait_for_end(started.run_id, seconds=WAIT_SECONDS)
            print_end(started.run_id, self.stdout)

    def _resume(self, options: dict[str, Any]) -> None:
        check_may_operate(options["user"])
        started = continue_run(
            GoingOn(
                run_id=run_id_of(options["id"]),
                started_by=options["user"],
                word=options["word"],
                despite_unknown=options["despite_unknown"],
            )
        )
        self.stdout.write(str(started.run_id))
        if options["wait"]:
            wait_for_end(started.run_id, seconds=WAIT_SECONDS)
            print_end(started.run_id, self.stdout)


def print_end(run_id: UUID, out: OutputWrapper) -> None:
    """Write how a run ended. Raises `NotAnswered` where it was not with an answer."""
    run = run_head(run_id)
    answer = answer_of(run)
    out.write(visible(str(answer["answer"] or run.reason or run.status)))
    if run.status != RunStatus.ANSWERED:
        raise NotAnswered(
            f"run {run_id} is {run.status}; `manage.py runs show {run_id}` tells what it did"
        )


def run_id_of(text: str) -> UUID:
    """Return a run's id. Raises `BadInput`."""
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(f"{text!r} is no run id; `manage.py runs list` shows them") from None


def check_may_operate(username: str) -> None:
    """Raise `UserUnknown`, or `BadInput` for one who may not operate agents; "" stands for nobody."""
    if not username:
        return
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise UserUnknown(f"there is no active user {username!r}")
    if not user.has_perm(OPERATE):
        raise BadInput(f"{username!r} may not start runs: that needs the permission {OPERATE}")


def told_words(words: dict[str, Any]) -> str:
    """Return a transcript as text: who spoke, then what was said or asked for, later lines of it indented."""
    told: list[tuple[str, str]] = []
    for it in words["messages"]:
        told += [(it["role"], it["text"])] if it["text"] else []
        for call in it.get("calls", ()):
            told.append((f"{it['role']} calls", f"{call['tool']} {call['arguments_text']}"))
    answer = words["answer"]
    if answer and (not told or told[-1][1] != answer):
        told.append(("answer", answer))
    lines = (f"{who}: {said}".replace("\n", "\n  ") for who, said in told)
    return visible("\n".join(lines)) or "no words are kept"


def told_takeover(row: Mapping[str, Any]) -> str:
    """Return one takeover on one line, also one whose row somebody edited."""
    calls = [it for it in some_list(row.get("calls")) if isinstance(it, dict)]
    told = ", ".join(f"{it.get('call')} {it.get('settlement')}" for it in calls) or "no open call"
    attempt, losses, cause, step = (row.get(it) for it in ("attempt", "losses", "cause", "step"))
    return f"{cell(row['at'])} attempt {attempt}, loss {losses} ({cause}), step {step}: {told}"
