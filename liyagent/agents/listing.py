"""Agents by key, and the versions of one, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.agents.errors import AgentUnknown, VersionUnknown
from liyagent.agents.models import Agent, AgentVersion
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    page_by,
    read_cursor,
    write_cursor,
)
from liyagent.core.plain import clean_text

FILTERS = {"contained": "is_contained", "enabled": "is_enabled"}
TRUTHS = {"true": True, "false": False}
MOST_VERSION = 2**31 - 1


def list_agents(asked: Mapping[str, str]) -> Page[Agent]:
    """Return the page that `asked` names, by key. Raises `BadInput` naming what is allowed."""
    check_names(asked, (*FILTERS, *PAGING))
    rows = Agent.objects.all()
    for name, column in FILTERS.items():
        if name in asked:
            if asked[name] not in TRUTHS:
                raise BadInput(f"{name} is {asked[name][:80]!r}; it wants true or false")
            rows = rows.filter(**{column: TRUTHS[asked[name]]})
    return page_by(rows, asked, field="key")


def find_agent(key: str) -> Agent:
    """Return an agent by its key. Raises `AgentUnknown`."""
    agent = Agent.objects.filter(key=clean_text(key)).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {clean_text(key)!r}")
    return agent


def list_versions(key: str, asked: Mapping[str, str]) -> Page[AgentVersion]:
    """Return the page of an agent's versions that `asked` names, newest first. Raises `AgentUnknown`, `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = AgentVersion.objects.filter(agent=find_agent(key)).select_related("agent")
    rows = rows.order_by("-number")
    if "cursor" in asked:
        (last,) = read_cursor(asked["cursor"], parts=1)
        if not (last.isascii() and last.isdigit() and len(last) < 11):
            raise bad_cursor()
        rows = rows.filter(number__lt=int(last))
    found = list(rows[: limit + 1])
    has_more = len(found) > limit
    return Page(
        rows=found[:limit],
        next_cursor=write_cursor([str(found[limit - 1].number)]) if has_more else "",
    )


def find_version(key: str, number: int) -> AgentVersion:
    """Return one version of an agent. Raises `AgentUnknown`, `VersionUnknown`."""
    agent = find_agent(key)
    rows = AgentVersion.objects.select_related("agent")
    version = rows.filter(agent=agent, number=number).first() if number <= MOST_VERSION else None
    if version is None:
        raise VersionUnknown(f"agent {key} has no version {number}; its newest is {agent.version}")
    return version
