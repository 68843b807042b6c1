"""A report on tools as lines for a person: a table, then what to mend and what could be pasted."""

from __future__ import annotations

from collections.abc import Iterator

from liyagent.core.errors import LiyagentError
from liyagent.core.tables import aligned
from liyagent.gateway.proposals import Proposal
from liyagent.gateway.report import Report, ToolReport

HEADS = ("TOOL", "EFFECT", "IN DOUBT", "TO MEND")


class ToMend(LiyagentError):
    """Tools have something to mend."""

    code = "tools.to_mend"


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of a report."""
    rows = [(it.tool, it.effect, it.in_doubt, len(it.mend) or "") for it in report.tools]
    yield aligned(HEADS, rows)
    for one in report.tools:
        if one.mend or one.proposals:
            yield from _told(one)
    more = f"; {report.left_out} tools are left out: name a server" if report.left_out else ""
    yield ""
    yield f"{report.writes} writes, {report.reads} reads, {report.to_mend} to mend{more}"


def _told(one: ToolReport) -> Iterator[str]:
    yield ""
    yield one.tool
    for what in one.mend:
        yield f"  to mend: {what}"
    for proposal in one.proposals:
        yield from _proposed(proposal)


def _proposed(proposal: Proposal) -> Iterator[str]:
    yield f"  {proposal.vendor}, {proposal.write}: {proposal.says}"
    if proposal.decided:
        yield f"  decided: {proposal.decided}"
    yield f"  uncertain: {proposal.uncertain}"
    yield f"  read: {', '.join(proposal.sources)}"
    if proposal.but:
        yield f"  nothing to paste: {proposal.but}"
        return
    yield "  below `tools:` of the server, if you find it so:"
    for line in proposal.lines:
        yield f"    {line}"
