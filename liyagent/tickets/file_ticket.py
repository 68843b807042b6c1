"""File a ticket: one for each source, in the commit of what it is filed for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from liyagent.audit.record import record
from liyagent.core.ids import new_id
from liyagent.core.transactions import require_transaction
from liyagent.tickets.body import Body, fitted
from liyagent.tickets.given import (
    checked_priority,
    checked_queue,
    checked_source,
    shown_subject,
)
from liyagent.tickets.models import QUEUE, Ticket
from liyagent.tickets.words import BODY, seal_words
from missions.context import current_stamp

LONGEST_NAME = 150
FILE = """
INSERT INTO tickets_ticket (id, serial, state, priority, queue, subject, sealed, key_id, source_kind, source_id, mission,
        correlation_id, run_id, agent_key, created_by, changed_by, revision, comments, created_at, changed_at)
    SELECT %s, nextval('tickets_serial'), 'open', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', 0, 0, it.now, it.now
        FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
    ON CONFLICT (source_kind, source_id) DO NOTHING
    RETURNING id
"""


def file_ticket(
    *,
    source_kind: str,
    source_id: str,
    subject: str,
    body: Body,
    actor: str,
    priority: str = "P2",
    queue: str = QUEUE,
    mission: str = "",
    correlation_id: UUID | None = None,
    run_id: UUID | None = None,
    agent_key: str = "",
) -> Ticket:
    """File a ticket within the caller's transaction, or find the one that was filed for this source, as it stands.

    `body` is sealed: a text, or sections by name; `subject` is plain, so it bears no words of a run. Where no mission is
    given, it is that of what is worked for here, else the correlation id. Audited as `ticket.filed`, once (SG-09). Raises
    `NoTransaction`, `BadTicket`, and `NotStorable` for a body that is no plain data.
    """
    require_transaction("filing a ticket")
    source = checked_source(source_kind, source_id)
    found = _filed_for(source)
    if found is not None:
        return found
    ticket_id = new_id()
    sealed, key_id = seal_words(fitted(body), kind=BODY, row_id=ticket_id)
    mission = mission or current_stamp().mission_of_work or str(correlation_id or ticket_id)
    values: list[Any] = [
        ticket_id, checked_priority(priority), checked_queue(queue), shown_subject(subject), sealed, key_id, *source,
        mission, correlation_id, run_id, agent_key, actor[:LONGEST_NAME],
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(FILE, values)
        is_new = cursor.fetchone() is not None
    ticket = Ticket.objects.get(source_kind=source[0], source_id=source[1])
    if is_new:
        detail = {"ticket": ticket.number, "priority": ticket.priority, "queue": ticket.queue, "source": ticket.source}  # fmt: skip
        record(
            "ticket.filed",
            actor=actor,
            mission=mission,
            correlation_id=correlation_id,
            run_id=run_id,
            agent=agent_key,
            detail=detail,
        )
    return ticket


def _filed_for(source: tuple[str, str]) -> Ticket | None:
    return Ticket.objects.filter(source_kind=source[0], source_id=source[1]).first()
