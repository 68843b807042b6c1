"""What `manage.py check --deploy` looks at: that the tool which is to file tickets can do so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection

from liyagent.core.checks import TAG
from liyagent.core.ticket_conf import ARGS, TOOL, TicketConf
from liyagent.gateway.misfit import misfit
from liyagent.gateway.models import KeyPlaceChoice, Tool
from liyagent.tickets.outside import TicketFields, ticket_call

SAMPLE = TicketFields(
    subject="Run of triage failed",
    body={"What failed": "step close"},
    source_kind="saga",
    source_id="00000000-0000-7000-8000-000000000000",
    mission="INC-1",
    run_id="00000000-0000-7000-8000-000000000000",
)


@checks.register(TAG, deploy=True)
def check_ticket_tool(**_: Any) -> Iterable[checks.CheckMessage]:
    """The tool is in the catalogue, offered, approved, takes what the template makes, and is sent twice by nobody."""
    conf = settings.LIYAGENT.tickets
    if conf is None:
        return
    try:
        tool = _tool_of(conf)
    except DatabaseError:
        connection.close()
        return
    if tool is None:
        yield checks.Error(
            f"no enabled server {conf.server} offers {conf.tool}, so no ticket can be filed there",
            hint=f"`manage.py servers list` and `manage.py tools list` show what there is; mend {TOOL}, or declare and sync the server.",
            id="liyagent.E070",
        )
        return
    yield from _told(tool, conf)


def _tool_of(conf: TicketConf) -> Tool | None:
    offered = Tool.objects.filter(is_offered=True, server__is_enabled=True).select_related("server")
    return offered.filter(server__key=conf.server, name=conf.tool).first()


def _told(tool: Tool, conf: TicketConf) -> Iterable[checks.CheckMessage]:
    _, _, args = ticket_call(SAMPLE, conf)
    problem = misfit(args, tool.schema) if tool.schema else ""
    if problem:
        yield checks.Error(
            f"{tool} does not take what tickets are filed with: {problem}",
            hint=f"Mend {ARGS}; the tool's page in the console shows what it wants.",
            id="liyagent.E071",
        )
    if not tool.is_approved:
        yield checks.Warning(
            f"{tool} changed since it was approved, or never was: each ticket is held for a person",
            hint=f"Look at it, then `manage.py tools approve {conf.server}/{conf.tool}`.",
            id="liyagent.W072",
        )
    if tool.key_place == KeyPlaceChoice.NONE and tool.reader is None:
        yield checks.Warning(
            f"{tool} takes no key and has no reader: a ticket whose process died while it was filed is of unknown outcome",
            hint="Say where the vendor takes or shows our key, if it does (docs/tool-servers.md).",
            id="liyagent.W073",
        )
