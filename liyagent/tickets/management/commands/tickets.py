"""`manage.py tickets`: what people are to do, what was written on it, and what became of it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, cell, visible
from liyagent.tickets.body import sections_of
from liyagent.tickets.change_ticket import change_ticket
from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.find import find_ticket
from liyagent.tickets.listing import COLUMNS, list_tickets
from liyagent.tickets.models import Priority, Ticket, TicketState
from liyagent.tickets.told import TicketTold, ticket_told

HEADS = ("TICKET", "STATE", "PRIORITY", "QUEUE", "FILED", "COMMENTS", "MISSION", "SUBJECT")


class Command(BaseCommand):
    """One subcommand a verb."""

    help = "Tickets: list [--state S] [--priority P] [--queue Q] [--mission M] | show NUMBER | comment NUMBER TEXT | state NUMBER STATE"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="the newest first")
        listed.add_argument("--state", choices=TicketState.values)
        listed.add_argument("--priority", choices=Priority.values)
        for name in ("queue", "mission", "run"):
            listed.add_argument(f"--{name}")
        listed.add_argument(
            "--limit", type=int, default=50, choices=range(1, 201), metavar="1..200"
        )
        listed.add_argument("--cursor", help="what the page before named")
        shown = verbs.add_parser("show", help="one ticket, its words, and what was written on it")
        shown.add_argument("number", help="such as T-000123")
        comment = verbs.add_parser("comment", help="write on a ticket")
        comment.add_argument("number", help="such as T-000123")
        comment.add_argument("text")
        state = verbs.add_parser("state", help="change the state of a ticket; closed is the end")
        state.add_argument("number", help="such as T-000123")
        state.add_argument("state", choices=TicketState.values)
        state.add_argument("--reason", default="", help="for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        names = (*COLUMNS, "limit", "cursor")
        asked = {name: str(options[name]) for name in names if options[name] is not None}
        page = list_tickets(asked)
        self.stdout.write(aligned(HEADS, [_row(it) for it in page.rows]))
        if page.next_cursor:
            self.stdout.write(f"more: the same with --cursor {page.next_cursor}")

    def _show(self, options: dict[str, Any]) -> None:
        told = ticket_told(find_ticket(options["number"]), with_words=True)
        facts = _facts(told.ticket)
        width = max(map(len, facts))
        lines = [f"{name:{width}}  {cell(value)}" for name, value in facts.items()]
        self.stdout.write("\n".join((*lines, *_body(told), *_comments(told))))

    def _comment(self, options: dict[str, Any]) -> None:
        comment = comment_ticket(
            number=options["number"], text=options["text"], actor=operator_name()
        )
        self.stdout.write(f"{comment.ticket}: comment {comment.place}")

    def _state(self, options: dict[str, Any]) -> None:
        seen = find_ticket(options["number"])
        ticket = change_ticket(
            number=seen.number,
            revision=seen.revision,
            state=options["state"],
            reason=options["reason"],
            actor=operator_name(),
        )
        self.stdout.write(f"{ticket}: {ticket.state}")


def _row(ticket: Ticket) -> tuple[Any, ...]:
    return (
        ticket.number, ticket.state, ticket.priority, ticket.queue, ticket.created_at, ticket.comments, ticket.mission,
        ticket.subject,
    )  # fmt: skip


def _facts(ticket: Ticket) -> dict[str, Any]:
    return {
        "ticket": ticket.number,
        "subject": ticket.subject,
        "state": ticket.state,
        "priority": ticket.priority,
        "queue": ticket.queue,
        "source": ticket.source,
        "mission": ticket.mission,
        "run": ticket.run_id,
        "agent": ticket.agent_key,
        "filed": ticket.created_at,
        "filed by": ticket.created_by,
        "changed": ticket.changed_at,
        "changed by": ticket.changed_by,
        "closed": ticket.closed_at,
    }


def _body(told: TicketTold) -> list[str]:
    if told.body is None:
        return ["", f"Its words cannot be shown: {visible(told.words_missing)}."]
    lines = []
    for section in sections_of(told.body):
        lines += ["", *([cell(section.name)] if section.name else []), visible(section.text)]
    return lines


def _comments(told: TicketTold) -> list[str]:
    lines = []
    if told.before:
        lines += ["", "(earlier comments: GET /api/tickets/NUMBER/comments)"]
    for it in told.comments:
        text = it.text if it.text is not None else f"(not shown: {it.words_missing})"
        head = f"comment {it.comment.place}, {cell(it.comment.by)}, {cell(it.comment.created_at)}"
        lines += ["", head, visible(text)]
    return lines
