"""The call that files a ticket at another ticket system, where the settings name one. Pure: it is made elsewhere, through the gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from liyagent.core.templates import render
from liyagent.core.ticket_conf import TicketConf
from liyagent.tickets.body import Body, body_text
from liyagent.tickets.given import shown_subject
from liyagent.tickets.models import QUEUE

# What the fields of ticket systems hold: of a longer body the beginning is told, and where the rest stands.
LONGEST_TEXT = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketFields:
    """What a ticket is to say: as `file_ticket` takes it. `link` leads to all of it, "" where the console has no address."""

    subject: str
    body: Body
    source_kind: str
    source_id: str
    priority: str = "P2"
    queue: str = QUEUE
    mission: str = ""
    run_id: str = ""
    link: str = ""


def ticket_call(fields: TicketFields, conf: TicketConf) -> tuple[str, str, dict[str, Any]]:
    """Return server, tool and arguments of the call that files it: the same for the same fields, whenever it is asked.

    Raises `BadTemplate` where what the template makes of them is longer than 1 MiB.
    """
    context = {
        "subject": shown_subject(fields.subject),
        "body": _text(fields),
        "priority": fields.priority,
        "queue": fields.queue,
        "mission": fields.mission,
        "run_id": fields.run_id,
        "source": f"{fields.source_kind}:{fields.source_id}",
        "link": fields.link,
    }
    args: dict[str, Any] = render(conf.args, context)
    return conf.server, conf.tool, args


def _text(fields: TicketFields) -> str:
    text = body_text(fields.body)
    if len(text) <= LONGEST_TEXT:
        return text
    rest = f" They stand at {fields.link}." if fields.link else ""
    return f"{text[:LONGEST_TEXT]}\n({len(text) - LONGEST_TEXT:,} more characters were left out.{rest})"
