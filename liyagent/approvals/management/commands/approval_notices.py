"""`manage.py approval_notices`: what was told of approvals, what could not be, and to tell it again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.approvals.models import Notice, NoticeState
from liyagent.approvals.outbox import MOST_LISTED, list_notices, send_again
from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned

HEADS = ("ID", "STATE", "TELLS", "REQUEST", "SINCE", "ATTEMPTS", "NEXT", "WHY NOT")


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Notices of approvals: list [--state S] [--limit N] | send-again ID"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="the newest, and why one was not delivered")
        listed.add_argument("--state", default="", help=", ".join(NoticeState.values))
        listed.add_argument("--limit", default=str(MOST_LISTED), help=f"at most {MOST_LISTED}")
        again = verbs.add_parser("send-again", help="send one again, with the id that it had")
        again.add_argument("id", help="its number, as `list` shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        if options["verb"] == "list":
            limit = _number(options["limit"], "limit")
            rows = [_row(it) for it in list_notices(state=options["state"], limit=limit)]
            self.stdout.write(aligned(HEADS, rows))
        else:
            number = _number(options["id"], "a notice's number")
            notice = send_again(notice_id=number, actor=operator_name())
            self.stdout.write(f"notice {notice.id} of request {notice.approval_id} is due now")


def _row(notice: Notice) -> tuple[object, ...]:
    is_open = notice.state == NoticeState.PENDING
    return (
        notice.id, notice.state, f"{notice.kind}: {notice.status}", notice.approval_id, notice.created_at,
        notice.attempts, notice.next_at if is_open else None, notice.last_error,
    )  # fmt: skip


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadInput(f"{text[:80]!r} is no number; it wants {what}")
    return int(text)
