"""`manage.py doubts`: writes of which nobody knows whether they took effect, and a person's word on them."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser

from liyagent.access.errors import UserUnknown
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, cell, visible
from runs.doubts import STATES, Doubt, arguments_of, doubt_of, list_doubts
from runs.settle_by_person import (
    Said,
    has_reader,
    it_did_not,
    it_happened,
    look_again,
    result_given,
)

SETTLE = "runs.settle_call"
NARROWED_BY = ("state", "server", "tool", "agent", "run", "mission", "limit", "cursor")
LIST_HEADS = ("ID", "STATE", "CALL", "AGENT", "MARKED", "RUN", "STEP KEY")
HEAD_FACTS = ("state", "decision", "known", "to_do")
CALL_FACTS = (
    "run_id", "step", "index", "step_key", "marked_at", "deadline", "fate", "settlement", "late_finding", "late_look_at",
    "approval_id", "settled_at", "settled_by", "settled_reason",
)  # fmt: skip
NONE = "No write is in doubt."
NEXT = "doubts show ID tells more; doubts happened ID --reason R, or did-not, says what you saw at the vendor"


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Writes in doubt: list | show ID | happened ID --reason R [--result R] | did-not ID --reason R | "
        "look-again ID --reason R"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="what is in doubt, the oldest mark first")
        for name in NARROWED_BY:
            told = f"one of {', '.join(STATES)}" if name == "state" else None
            listed.add_argument(f"--{name}", help=told)
        verbs.add_parser("show", help="all of a marked call, and what was sent").add_argument("id")
        for verb, told in (
            ("happened", "you looked at the vendor, and it took effect"),
            ("did-not", "you looked at the vendor, and it did not"),
            ("look-again", "have the vendor asked for it once more"),
        ):
            said = verbs.add_parser(verb, help=told)
            said.add_argument("id")
            said.add_argument(
                "--reason", required=True, help="one line: what was looked at, and seen"
            )
            said.add_argument(
                "--user",
                default="",
                help="who says so; by default the user named as you are here",
            )
            if verb == "happened":
                said.add_argument(
                    "--result", default="", help="what it returned, as JSON or in plain words"
                )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb'].replace('-', '_')}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        page = list_doubts({name: options[name] for name in NARROWED_BY if options[name]})
        if page.doubts:
            self.stdout.write(aligned(LIST_HEADS, [_row(it) for it in page.doubts]))
            self.stdout.write(NEXT)
        elif not page.next_cursor:
            self.stdout.write(NONE)
        if page.next_cursor:
            self.stdout.write(f"there are more: the same with --cursor {page.next_cursor}")

    def _show(self, options: dict[str, Any]) -> None:
        doubt = doubt_of(_id_of(options["id"]))
        call, run = doubt.call, doubt.run
        facts: list[tuple[str, object]] = [("id", call.id), ("call", f"{call.server}/{call.tool}")]
        facts += [(name, getattr(doubt, name)) for name in HEAD_FACTS]
        facts += [(name, getattr(call, name)) for name in CALL_FACTS]
        facts += [
            ("agent", run.agent_key if run else None),
            ("run_status", run.status if run else "not kept any more"),
            ("mission", run.mission if run else None),
            ("has_reader", "yes" if has_reader(call) else "no"),
        ]
        self.stdout.write(aligned(("FACT", "VALUE"), facts))
        args, missing = arguments_of(doubt)
        told = json.dumps(args, ensure_ascii=False, indent=2) if args is not None else missing
        self.stdout.write(visible(f"\nexactly what was, or was to be, sent:\n{told}"))

    def _happened(self, options: dict[str, Any]) -> None:
        result = result_given(options["result"])
        self._print(it_happened(result=result, **_said(options)), "it happened")

    def _did_not(self, options: dict[str, Any]) -> None:
        self._print(it_did_not(**_said(options)), "it did not happen")

    def _look_again(self, options: dict[str, Any]) -> None:
        call = look_again(**_said(options))
        self.stdout.write(
            visible(
                f"{call.id} {call.server}/{call.tool}: the vendor is asked within some seconds; "
                f"`manage.py doubts show {call.id}` tells what it said"
            )
        )

    def _print(self, said: Said, told: str) -> None:
        call = said.call
        self.stdout.write(
            visible(
                f"{call.id} {call.server}/{call.tool} is {call.fate}: {told}, says {call.settled_by}"
            )
        )
        for approval in said.withdrawn:
            self.stdout.write(f"request {approval}, which waited because of it, is withdrawn")
        for approval in said.waiting:
            self.stdout.write(
                f"request {approval} waits because of it: `manage.py approvals show {approval}`, and decide"
            )


def _row(doubt: Doubt) -> tuple[object, ...]:
    call, run = doubt.call, doubt.run
    name = f"{call.server}/{call.tool}"
    return (
        call.id,
        doubt.state,
        name,
        run.agent_key if run else None,
        call.marked_at,
        call.run_id,
        call.step_key,
    )


def _said(options: dict[str, Any]) -> dict[str, Any]:
    """Who says what of which call, and who typed it."""
    return {
        "call_id": _id_of(options["id"]),
        "actor": _settler(options["user"]),
        "reason": options["reason"],
        "typed_by": operator_name(),
    }


def _id_of(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise BadInput(
            f"{cell(text[:80])!r} is no id of a call; `manage.py doubts list` shows them, `manage.py runs show RUN` those of a run"
        )
    return int(text)


def _settler(named: str) -> str:
    """Return the name of a user who may say what happened. Raises `UserUnknown`, `BadInput`."""
    name = named or operator_name().removeprefix("cli:")
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        advice = "" if named else "; say with --user who looked at the vendor"
        raise UserUnknown(f"there is no active user {name[:150]!r}{advice}")
    if not user.has_perm(SETTLE):
        raise BadInput(f"{name!r} may not say what happened: that needs the permission {SETTLE}")
    return name
