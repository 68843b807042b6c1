"""What a held call would act on, and what can be done about it afterwards, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.agents.sub_agents import SERVER
from liyagent.approvals.models import Approval
from liyagent.core.errors import NotFound
from liyagent.core.moments import span
from liyagent.core.pills import BAD, QUIET, WARN, pill
from liyagent.core.tables import cell
from liyagent.gateway.models import KeyPlaceChoice, Tool
from liyagent.gateway.outcome import Effect
from liyagent.gateway.states import READ_BACK, SENT_AGAIN, TOLD_UNKNOWN, in_doubt_of
from liyagent.gateway.vendor_facts import facts_of

IN_DOUBT: Mapping[str, str] = {
    SENT_AGAIN: "it is sent again with the same key",
    READ_BACK: "it is looked for at the vendor, and not sent again",
    TOLD_UNKNOWN: "nobody can tell whether it took effect; it is not sent again",
}


def affected_by(approval: Approval) -> list[tuple[str, SafeString]]:
    """Return what the call would act on, and what can be done about it afterwards: a line each, by its name."""
    if approval.server == SERVER:
        told = f"It hands a task to the agent {cell(approval.tool)}, which runs with no more rights than this one."
        return [("What it reaches", format_html("{}", told))]
    tools = Tool.objects.select_related("server").defer("schema", "hints", "approved")
    tool = tools.filter(server__key=approval.server, name=approval.tool).first()
    if tool is None:
        told = "There is no such tool any more: if approved, the call is refused."
        return [("What it reaches", pill(told, BAD))]
    return [
        ("Server", _server(tool)),
        ("Effect", _effect(tool)),
        ("Undo", _undo(tool)),
        ("Found again by", _reader(tool)),
        ("Our key", _key(tool)),
        ("If its outcome is in doubt", format_html("{}", IN_DOUBT.get(in_doubt_of(tool), "it is read again"))),
    ]  # fmt: skip


def _server(tool: Tool) -> SafeString:
    server = tool.server
    vendor = facts_name(server.vendor) if server.vendor else "vendor not named"
    where = server.url or server.command or "in this process"
    address = reverse("admin:gateway_toolserver_change", args=[server.pk])
    off = (
        format_html("{}", "")
        if server.is_enabled
        else pill("switched off: if approved, the call is refused", BAD)
    )
    return format_html(
        '<a class="liy-link" href="{}">{}</a> ({}), at <span class="liy-wrap">{}</span> {}',
        address, server.key, vendor, cell(where), off,
    )  # fmt: skip


def facts_name(vendor: str) -> str:
    """Return what a vendor is called."""
    try:
        return facts_of(vendor).name
    except NotFound:
        return cell(vendor)


def _effect(tool: Tool) -> SafeString:
    reads = tool.effect == Effect.READ.value
    return pill("only reads", QUIET) if reads else pill("changes something", WARN)


def _undo(tool: Tool) -> SafeString:
    if tool.undo is None:
        return format_html("{}", "none is known: what it does has to be put right by hand")
    return format_html("{}", f"known: {cell(tool.undo.get('tool') or json.dumps(tool.undo))}")


def _reader(tool: Tool) -> SafeString:
    if tool.reader is None:
        return format_html("{}", "no reader: it cannot be looked up afterwards by our key")
    reader = tool.reader.get("tool") if isinstance(tool.reader, dict) else ""
    return format_html("{}", cell(reader))


def _key(tool: Tool) -> SafeString:
    if tool.key_place == KeyPlaceChoice.NONE:
        return format_html("{}", "the vendor takes none: sent twice, it would happen twice")
    place = f"as argument {cell(tool.key_field)}" if tool.key_field else "beside the arguments"
    window = f"for {span(tool.key_window_seconds)} a second sending does nothing" if tool.key_window_seconds else "the vendor only stores it"  # fmt: skip
    return format_html("{}", f"added {place} when it is sent; {window}")
