"""`manage.py policies`: the Cedar policy sets, their versions, and what they say of a call."""

from __future__ import annotations

import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import read_text
from liyagent.core.operator import operator_name
from liyagent.core.plain import NotStorable, parse_json
from liyagent.core.tables import aligned, visible
from liyagent.gateway.models import Policy
from liyagent.gateway.outcome import Posture
from liyagent.gateway.permit import permit
from liyagent.gateway.policies import parse_policies
from liyagent.gateway.policy_versions import (
    activate_policy,
    add_version,
    find_version,
    load_policy,
    newest_version,
)
from liyagent.gateway.try_call import Trial, try_call

MOST_LISTED = 200
HEADS = ("NAME", "VERSION", "STATE", "BY", "AT", "NOTE")
NONE = "none: every call is refused; `manage.py policies load FILE` adds one"
EXIT_CODES = {Posture.POSTURE: 0, Posture.REFUSED: 1, Posture.HELD: 2}
WORDS = {Posture.POSTURE: "let through", Posture.REFUSED: "refused", Posture.HELD: "held"}


class Command(BaseCommand):
    """Load, show, compare and activate policy sets; permit an agent; try a call."""

    help = (
        "Cedar policies: load FILE | add FILE | list | show [NAME [VERSION]] | activate NAME VERSION | "
        "diff NAME V1 V2 | permit AGENT PATTERN | try AGENT SERVER/TOOL"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, told in (
            ("load", "check a file and put it into force as the next version of its name"),
            ("add", "check a file and keep it as the next version of its name, not in force"),
        ):
            load = verbs.add_parser(verb, help=told)
            load.add_argument("file")
            load.add_argument("--name", help="by default the file's name")
            load.add_argument("--note", default="", help="why, for who reads the history")
        verbs.add_parser("list", help=f"the versions, newest first, at most {MOST_LISTED}")
        show = verbs.add_parser("show", help="the policies in force, or those of a version")
        show.add_argument("name", nargs="?")
        show.add_argument("version", nargs="?", type=int, help="by default the newest")
        activate = verbs.add_parser("activate", help="put a version into force")
        activate.add_argument("name")
        activate.add_argument("version", type=int)
        diff = verbs.add_parser("diff", help="what changed from one version to another")
        diff.add_argument("name")
        diff.add_argument("old", type=int)
        diff.add_argument("new", type=int)
        allow = verbs.add_parser("permit", help="permit an agent some tools, in the set in force")
        allow.add_argument("agent")
        allow.add_argument("pattern", help="server/tool, server/* or *")
        allow.add_argument("--reads-only", action="store_true")
        allow.add_argument("--note", default="")
        self._add_try(verbs)

    def _add_try(self, verbs: Any) -> None:
        ask = verbs.add_parser(
            "try", help="what the gates say of a call; exits with 0 let through, 1 refused, 2 held"
        )
        ask.add_argument("agent")
        ask.add_argument("tool", metavar="SERVER/TOOL")
        ask.add_argument("--args", dest="arguments", default="{}", help="a JSON object")
        ask.add_argument(
            "--as", dest="started_by", default="", help="who would have started the run"
        )
        ask.add_argument("--entry", default="cli")
        ask.add_argument("--mission", default="")
        ask.add_argument(
            "--delegated-by", action="append", default=[], metavar="AGENT",
            help="an agent that handed the work down; several from the root's on",
        )  # fmt: skip
        ask.add_argument("--policy", help="a file to try in place of the set in force")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _load(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"{self._kept(options, load_policy)} is in force")

    def _add(self, options: dict[str, Any]) -> None:
        policy = self._kept(options, add_version)
        self.stdout.write(
            f"{policy} is kept; `manage.py policies activate {policy.name} {policy.version}` puts it into force"
        )

    def _kept(self, options: dict[str, Any], keep: Any) -> Policy:
        file = options["file"]
        try:
            name = options["name"] or Path(file).stem
            policy: Policy = keep(
                read_text(file), name=name, actor=operator_name(), note=options["note"]
            )
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from error
        return policy

    def _list(self, _options: dict[str, Any]) -> None:
        kept = Policy.objects.defer("text").order_by("name", "-version")[: MOST_LISTED + 1]
        rows = [
            (
                it.name,
                it.version,
                "in force" if it.is_active else "",
                it.created_by,
                it.created_at,
                it.note,
            )
            for it in kept
        ]
        self.stdout.write(aligned(HEADS, rows[:MOST_LISTED]))
        if len(rows) > MOST_LISTED:
            self.stdout.write(f"and more: {MOST_LISTED} are shown; GET /api/policies lists all")

    def _show(self, options: dict[str, Any]) -> None:
        policy = _chosen(options["name"], options["version"])
        if policy is None:
            self.stdout.write(NONE)
            return
        fingerprint = parse_policies(policy.text).fingerprint
        self.stdout.write(visible(f"// {policy}, fingerprint {fingerprint}\n{policy.text}"))

    def _activate(self, options: dict[str, Any]) -> None:
        policy = find_version(options["name"], options["version"])
        activate_policy(policy, actor=operator_name())
        self.stdout.write(f"{policy} is in force")

    def _diff(self, options: dict[str, Any]) -> None:
        old, new = (find_version(options["name"], options[it]) for it in ("old", "new"))
        lines = unified_diff(
            old.text.splitlines(), new.text.splitlines(), str(old), str(new), lineterm=""
        )
        self.stdout.write(visible("\n".join(lines)) or "no difference")

    def _permit(self, options: dict[str, Any]) -> None:
        given = permit(
            options["agent"],
            options["pattern"],
            reads_only=options["reads_only"],
            actor=operator_name(),
            note=options["note"],
        )
        told = "is in force with" if given.is_new else "permits it already:"
        self.stdout.write(visible(f"{given.policy} {told}\n{given.added}"))

    def _try(self, options: dict[str, Any]) -> None:
        trial = try_call(
            agent_key=options["agent"],
            tool=options["tool"],
            args=_object(options["arguments"]),
            started_by=options["started_by"],
            entry=options["entry"],
            mission=options["mission"],
            delegated_by=options["delegated_by"],
            policy_text=_draft(options["policy"]),
        )
        self.stdout.write(visible(_told(trial)))
        sys.exit(EXIT_CODES[trial.verdict.posture])


def _chosen(name: str | None, version: int | None) -> Policy | None:
    if name is None:
        return Policy.objects.filter(is_active=True).first()
    return newest_version(name) if version is None else find_version(name, version)


def _draft(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return read_text(file)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from error


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except NotStorable as error:
        raise BadInput(f"--args {error}") from error
    if not isinstance(value, dict):
        raise BadInput("--args wants a JSON object")
    return value


def _told(trial: Trial) -> str:
    verdict = trial.verdict
    lines = [f"{WORDS[verdict.posture]}{': ' if verdict.reason else ''}{verdict.reason}", ""]
    rows = [(it.gate, WORDS[it.posture], it.reason) for it in trial.gates]
    lines += [aligned(("GATE", "SAYS", "REASON"), rows), ""]
    lines.append(
        f"decided by {', '.join(trial.policies) or 'no policy'}; fingerprint {verdict.policy_fingerprint}"
    )
    if verdict.call.unmasked is not None:
        lines.append(f"arguments as they would leave: {verdict.call.args}")
    return "\n".join(lines)
