"""`manage.py approvals`: what waits for a person, all that it is about, and the decision."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser

from liyagent.access.errors import UserUnknown
from liyagent.access.permissions import DECIDE
from liyagent.approvals.authority import policies_changed, policies_now
from liyagent.approvals.decide import decide, find_approval, withdraw
from liyagent.approvals.listing import list_approvals
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.told import replaced_by, told_of
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible

ALL = "all"
NARROWED_BY = ("agent", "run", "mission", "kind", "limit")
LIST_HEADS = (
    "ID", "STATUS", "CALL", "AGENT", "ASKED BY", "CREATED", "EXPIRES", "DECIDED BY", "OF RUN", "STEP", "DIGEST", "POLICIES",
)  # fmt: skip
LIST_FACTS = (
    "id", "status", "name", "agent_key", "requested_by", "created_at", "expires_at", "decided_by", "run_id",
)  # fmt: skip
# Of the digest so much is listed that calls are told apart; the very same call has the same.
SHORT_DIGEST = 8
HAVE_CHANGED = "changed"
CHANGED = "the policies have changed since: approved, it is not made, and is asked for anew"
FACTS = (
    "id", "kind", "status", "name", "agent_key", "entry", "mission", "requested_by", "run_as", "gate", "held_reason",
    "run_id", "step", "index", "run_waits", "created_at", "expires_at", "decided_at", "decided_by", "decision_reason",
    "settled_reason", "settled_at", "consumed_at", "replaces", "policy_fingerprint", "ceiling_digest", "digest",
)  # fmt: skip
BESIDE_FACTS = ("run_status", "age_seconds", "seconds_left", "replaced_by")
SAME_HEADS = ("THE SAME CALL WAITS AS", "OF RUN", "CREATED")
UNKNOWN_HEADS = ("UNKNOWN", "CALL", "OF RUN", "MARKED", "STEP KEY")
WHAT_A_DECISION_WANTS = "; what is decided is what `show` shows"


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Approvals: list [--status S or all] | show ID | approve ID --reason R | reject ID --reason R | "
        "withdraw ID --reason R"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="what waits, oldest first")
        listed.add_argument(
            "--status", default="pending", help=f"{', '.join(ApprovalStatus.values)}, or {ALL}"
        )
        for name in NARROWED_BY:
            listed.add_argument(f"--{name}")
        verbs.add_parser("show", help="all of a request, arguments too").add_argument("id")
        for verb, told in (
            ("approve", "let the call be made" + WHAT_A_DECISION_WANTS),
            ("reject", "let it not be made, and the agent be told why" + WHAT_A_DECISION_WANTS),
            ("withdraw", "take a request back, also one that cannot be opened"),
        ):
            decided = verbs.add_parser(verb, help=told)
            decided.add_argument("id")
            decided.add_argument("--reason", required=True, help="one line, kept and told")
            decided.add_argument(
                "--user", default="", help="who decides; by default the user named as you are here"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        asked = {name: options[name] for name in NARROWED_BY if options[name]}
        status = {} if options["status"] == ALL else {"status": options["status"]}
        page = list_approvals({**status, **asked})
        now = policies_now()
        rows = [_listed(it, is_changed=policies_changed(it, now=now)) for it in page.approvals]
        self.stdout.write(aligned(LIST_HEADS, rows))
        if any(row[-1] for row in rows):
            self.stdout.write(f"where POLICIES is {HAVE_CHANGED}, {CHANGED}")
        if page.next_cursor:
            self.stdout.write("there are more; --limit, --agent, --run and --mission choose")

    def _show(self, options: dict[str, Any]) -> None:
        told = told_of(_id_of(options["id"]), with_words=True)
        facts = [(name, getattr(told["approval"], name)) for name in FACTS]
        facts += [(name, told[name]) for name in BESIDE_FACTS if told.get(name) not in {None, ""}]
        facts += [
            (f"ceiling: {name}", _joined(it)) for name, it in told["approval"].ceiling.items()
        ]
        self.stdout.write(aligned(("FACT", "VALUE"), facts))
        if policies_changed(told["approval"], now=policies_now()):
            self.stdout.write(f"\n{CHANGED}")
        same = [(it["id"], it["run_id"], it["created_at"]) for it in told["same_digest"]]
        if same:
            self.stdout.write("\n" + aligned(SAME_HEADS, same))
        unknown = [_unknown_row(it) for it in told.get("unknown_calls", ())]
        if unknown:
            self.stdout.write("\n" + aligned(UNKNOWN_HEADS, unknown))
        arguments = json.dumps(told["arguments"], ensure_ascii=False, indent=2)
        self.stdout.write(visible(f"\narguments, exactly as they are to be sent:\n{arguments}"))

    def _approve(self, options: dict[str, Any]) -> None:
        self._decide(options, ApprovalStatus.APPROVED)

    def _reject(self, options: dict[str, Any]) -> None:
        self._decide(options, ApprovalStatus.REJECTED)

    def _decide(self, options: dict[str, Any], status: ApprovalStatus) -> None:
        approval = find_approval(_id_of(options["id"]))
        settled = decide(
            approval_id=approval.id,
            status=status,
            actor=_decider(options["user"]),
            reason=options["reason"],
            digest=approval.digest,
            typed_by=operator_name(),
        )
        self._print(settled)

    def _withdraw(self, options: dict[str, Any]) -> None:
        settled = withdraw(
            approval_id=_id_of(options["id"]),
            actor=_decider(options["user"]),
            reason=options["reason"],
            may_decide=True,
            typed_by=operator_name(),
        )
        self._print(settled)

    def _print(self, settled: Approval) -> None:
        told = f"{settled.id} {settled.name} is {settled.status}"
        if settled.status == ApprovalStatus.STALE:
            later = replaced_by(settled)
            told += f": {settled.settled_reason}" + (f"; asked anew as {later}" if later else "")
        self.stdout.write(visible(told))


def _id_of(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(
            f"{text[:80]!r} is no id of a request; `manage.py approvals list` shows them"
        ) from None


def _decider(named: str) -> str:
    """Return the name of a user who may decide: dispatch asks again whether they may. Raises `UserUnknown`, `BadInput`."""
    name = named or operator_name().removeprefix("cli:")
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        advice = "" if named else "; say with --user who decides"
        raise UserUnknown(f"there is no active user {name[:150]!r}{advice}")
    if not user.has_perm(DECIDE):
        raise BadInput(f"{name!r} may not decide: that needs the permission {DECIDE}")
    return name


def _listed(approval: Approval, *, is_changed: bool) -> list[Any]:
    place, digest = f"{approval.step}.{approval.index}", approval.digest[:SHORT_DIGEST]
    facts = [getattr(approval, name) for name in LIST_FACTS]
    return [*facts, place, digest, HAVE_CHANGED if is_changed else ""]


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _unknown_row(call: dict[str, Any]) -> tuple[Any, ...]:
    place, name = f"{call['step']}.{call['index']}", f"{call['server']}/{call['tool']}"
    return place, name, call["run_id"], call["marked_at"], call["step_key"]
