"""`manage.py deliveries`: what is owed to the other ends, what was given up, and to send it again or close it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.paging import MOST_PAGE
from liyagent.core.tables import aligned
from liyagent.entry.close import close_delivery
from liyagent.entry.listing import DELIVERY_FILTERS, GIVEN_UP, STATES, page_of_deliveries
from liyagent.entry.models import Arrival, Delivery, DeliveryState
from liyagent.entry.send_again import send_again
from liyagent.entry.serializers import arrivals_of

HEADS = (
    "ID",
    "STATE",
    "WAY",
    "SOURCE",
    "AGENT",
    "KIND",
    "RUN",
    "SINCE",
    "ATTEMPTS",
    "NEXT",
    "WHY NOT",
)


class Command(BaseCommand):
    """Lists where no verb is named."""

    help = (
        "Deliveries: [--dead] [--state S] [--way W] [--source S] [--agent A] [--run R] [--limit N] "
        "| send-again ID [--may-appear-twice] | close ID --reason R"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Filters of the list, and one subcommand a verb."""
        parser.add_argument(
            "--dead", action="store_true", help="those given up: dead, or nobody can tell"
        )
        for name in DELIVERY_FILTERS:
            told = ", ".join(STATES["delivery"]) if name == "state" else ""
            parser.add_argument(f"--{name}", default="", help=told)
        parser.add_argument("--limit", default=str(MOST_PAGE), help=f"at most {MOST_PAGE}")
        verbs = parser.add_subparsers(dest="verb")
        again = verbs.add_parser("send-again", help="have one that was given up sent again, now")
        again.add_argument("id", help="its number, as the list shows it")
        again.add_argument(
            "--may-appear-twice",
            action="store_true",
            help="take that on, for one of which nobody can tell whether it arrived",
        )
        close = verbs.add_parser("close", help="say that one that was given up is not to be sent")
        close.add_argument("id", help="its number, as the list shows it")
        close.add_argument("--reason", required=True, help="one line, kept and audited")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what is asked."""
        if options["verb"] == "send-again":
            due = send_again(
                delivery_id=_number(options["id"]),
                actor=operator_name(),
                may_appear_twice=options["may_appear_twice"],
            )
            self.stdout.write(f"delivery {due.id} of run {due.run_id} is due now, for a day")
        elif options["verb"] == "close":
            closed = close_delivery(
                delivery_id=_number(options["id"]),
                actor=operator_name(),
                reason=options["reason"],
            )
            self.stdout.write(f"delivery {closed.id} of run {closed.run_id} is closed")
        else:
            self._list(options)

    def _list(self, options: dict[str, Any]) -> None:
        if options["dead"] and options["state"]:
            raise BadInput("--dead and --state say two things; name one")
        asked = {it: options[it] for it in (*DELIVERY_FILTERS, "limit") if options[it]}
        if options["dead"]:
            asked["state"] = GIVEN_UP
        page = page_of_deliveries(asked)
        arrivals = arrivals_of(page.rows)
        self.stdout.write(aligned(HEADS, [_row(it, arrivals) for it in page.rows]))
        if page.next_cursor:
            self.stdout.write("there may be more; --state, --way, --source, --agent, --run choose")


def _row(delivery: Delivery, arrivals: Mapping[UUID, Arrival]) -> tuple[object, ...]:
    arrival = arrivals.get(delivery.run_id)
    is_open = delivery.state == DeliveryState.PENDING
    return (
        delivery.id, delivery.state, delivery.way, arrival.source if arrival else None,
        arrival.agent_key if arrival else None, delivery.kind, delivery.run_id, delivery.created_at, delivery.attempts,
        delivery.next_at if is_open else None, delivery.closed_why or delivery.last_error,
    )  # fmt: skip


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadInput(f"{text[:80]!r} is no number; it wants a delivery's number")
    return int(text)
