"""Agents search the documents of the sources that name them, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.core.errors import Conflict
from liyagent.gateway.local import ToolFailed
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Payload
from liyagent.jobs.sources import search as search_module
from liyagent.jobs.sources.save import save_source
from liyagent.jobs.sources.tool import offer_search, search
from tests.unit.jobs.conftest import Shop


def ask(agent: str, query: Any, **args: Any) -> list[dict[str, Any]]:
    """Ask as the gateway does."""
    payload = Payload(
        server="documents", tool="search", args={"query": query, **args}, key="k", mission="",
        is_write=False, timeout_seconds=30, limit_bytes=1 << 20, agent=agent,
    )  # fmt: skip
    found: list[dict[str, Any]] = search(payload)["documents"]
    return found


@pytest.fixture
def library(shop: Shop) -> Shop:
    """Two sources: one of triage and ops, one of ops alone."""
    shop.folder(
        public__printer_md="# Printer jams\nOpen the tray and pull the paper out. " + "More words. " * 500,
        public__disk_md="# Disks\nA printer is not a disk. Disks fill with logs.",
        private__salary_md="# Salaries\nThe salary of everybody, and the printer of the boss.",
    )  # fmt: skip
    for key, agents in (("public", ["triage", "ops-*"]), ("private", ["ops-*"])):
        told = {"kind": "folder", "agents": agents, "settings": {"folder": str(shop.root / key)}}
        save_source(key, told, actor="olga")
        assert shop.sync(key).status == "done"
    return shop


def test_the_best_come_first_with_source_path_and_snippet(library: Shop) -> None:
    found = ask("triage", "printers")
    assert [(it["source"], it["path"]) for it in found] == [
        ("public", "printer.md"),
        ("public", "disk.md"),
    ]
    assert found[0]["title"] == "Printer jams"
    assert "Open the tray" in found[0]["snippet"]
    assert len(found[0]["snippet"]) < 700
    assert len(ask("triage", "printers", limit=1)) == 1
    assert [it["path"] for it in ask("triage", '"disks fill" -tray')] == ["disk.md"]
    assert ask("triage", "nothing like it") == []


def test_an_agent_sees_the_sources_that_name_it_alone(library: Shop) -> None:
    assert ask("triage", "salary") == []
    assert [it["source"] for it in ask("ops-night", "salary")] == ["private"]
    for agent in ("", "Triage", "other", "ops*"):
        with pytest.raises(ToolFailed, match="no documents are kept for this agent"):
            ask(agent, "salary")
    save_source("private", {"agents": []}, actor="olga")
    assert ask("ops-night", "salary") == []


@pytest.mark.parametrize(
    ("query", "limit", "said"),
    [("", 5, "query wants"), (" ", 5, "query wants"), ("x" * 501, 5, "query wants"), (7, 5, "query wants"),
     ("x", 0, "limit wants"), ("x", 21, "limit wants"), ("x", True, "limit wants"), ("x", "5", "limit wants")],
)  # fmt: skip
def test_a_query_that_cannot_be_used_fails_clearly(library: Shop, query: Any, limit: Any, said: str) -> None:  # fmt: skip
    with pytest.raises(ToolFailed, match=said):
        ask("triage", query, limit=limit)


@pytest.mark.parametrize("query", ["'", '"""', "& | ! ( ) <->", ":*", "the", "\\", "or or -", "a\x00b", "%s %(x)s"])  # fmt: skip
def test_no_words_break_the_search(library: Shop, query: str) -> None:
    ask("triage", query)


def test_a_search_that_takes_too_long_is_given_up(library: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    slow = search_module.SEARCH.replace("WITH asked AS (", "WITH sleeping AS (SELECT pg_sleep(5)), asked AS (").replace("FROM best JOIN", "FROM sleeping, best JOIN")  # fmt: skip
    monkeypatch.setattr(search_module, "SEARCH", slow)
    monkeypatch.setattr(search_module, "SECONDS", 0.1)
    with pytest.raises(ToolFailed, match="rarer words"):
        ask("triage", "printer")


def test_the_server_of_the_tool_is_made_once_and_reads_alone(shop: Shop) -> None:
    offer_search(actor="olga")
    offer_search(actor="olga")
    tool = Tool.objects.get(server__key="documents")
    assert (tool.name, tool.effect, tool.is_approved, tool.is_offered) == ("search", "read", True, True)  # fmt: skip
    assert len(shop.audit("server.synced")) == 1
    ToolServer.objects.filter(key="documents").update(transport="http", url="https://example.com")
    with pytest.raises(Conflict, match="is another's"):
        offer_search(actor="olga")
