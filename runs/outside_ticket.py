"""A ticket filed at another ticket system: a governed write in a run of its own, one a saga (SG-09).

Where that comes to anything else than the ticket, the ticket is filed here, and says why: a person gets it in any case.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse
from psycopg.types.json import Jsonb

from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.ticket_conf import TicketConf
from liyagent.tickets.outside import TicketFields, ticket_call
from runs.checkpoint import keyring, seal_begun, started_as
from runs.conversation import start_part
from runs.minds import MIND
from runs.models import MINDED_FORMAT, Run, RunStatus
from runs.transcript import read_transcript
from runs.wake import tell_queued

NAME = LOOP = "handoff"
KEY, SENT = "key", "call"
BEGIN = (
    "SELECT liyagent_start(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::smallint, %s, %s, %s, ''::bytea, %s, "
    "'[]'::jsonb, liyagent_config_version(), '', '')"
)


def ticket_run_of(saga_id: UUID) -> Run | None:
    """Return the run that files the ticket of a saga elsewhere, None where none was begun."""
    return Run.objects.filter(correlation_id=saga_id, loop=LOOP).first()


def begin_ticket_run(root: Run, conf: TicketConf, *, subject: str, body: dict[str, Any]) -> Run:
    """Start it within the caller's transaction: its call is fixed and sealed now. Raises `BadTemplate`."""
    origin = settings.LIYAGENT.public_url
    link = f"{origin}{reverse('admin:runs_run_change', args=[root.id])}" if origin else ""
    fields = TicketFields(
        subject=subject, body=body, source_kind="saga", source_id=str(root.id), mission=root.mission,
        run_id=str(root.id), link=link,
    )  # fmt: skip
    server, tool, args = ticket_call(fields, conf)
    run = _child(root)
    key = digest([LOOP, str(root.id)])
    part = {
        **start_part(task=f"File a ticket for run {root.id}.", history=[], run=started_as(run)),
        MIND: NAME,
        KEY: key,
        SENT: {"name": f"{server}/{tool}", "args": args},
    }
    start, seal = seal_begun(run, part)
    told = {"agent": run.agent_key, "entry": run.entry, "files_ticket_of": str(root.id)}
    values: list[Any] = [
        run.id, run.correlation_id, run.parent_id, run.loop, run.agent_key, run.agent_version, run.entry, run.mission,
        root.request_id, run.started_by, run.recording, run.format, run.key_id, seal, start, Jsonb(told),
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(BEGIN, values)
    transaction.on_commit(tell_queued)
    return run


def _child(root: Run) -> Run:
    return Run(
        id=new_id(above=root.id),
        correlation_id=root.correlation_id,
        parent_id=root.id,
        loop=LOOP,
        agent_key=root.agent_key,
        agent_version=root.agent_version,
        entry=root.entry,
        mission=root.mission,
        started_by=root.started_by,
        recording=root.recording,
        format=MINDED_FORMAT,
        key_id=keyring().newest,
    )


def came_of(run: Run) -> str:
    """Return what the other system calls the ticket that an ended run filed, "" where it filed none."""
    if run.status != RunStatus.ANSWERED:
        return ""
    try:
        return str(read_transcript(run)["answer"] or run.id)
    except (KeyMissing, SealBroken):
        return str(run.id)
