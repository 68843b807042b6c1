"""The console's pages of runs, missions and the audit log, asked for what nobody asks for: none breaks, reads without a bound, or runs a word.

`make fuzz` runs this file with many more examples: `FUZZ_EXAMPLES`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from liyagent.audit.concerns import open_concern
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from tests.unit.events.attacks.test_found import ended
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
SEED = 20_26
ROOMS, PAGES = ("audit_", "missions_", "runs_"), ("console-events", "console-mission", "index")
MOST_STATEMENTS = 45
SCRIPT = "<script>alert(1)</script>"
VALUES = ("", "0", "-1", "1", "2", "99999999999999999999", "1.5", "x", "é", "\u0661", "a,b", "../..", SCRIPT, "'\"><b>", "a\x00b", "\r\nX: 1",
    "x" * 5000, "9" * 5000, "null", "[]", "-id", "-1.2.3", "all", "24h", "yes", "open", "failed", "infinity", "2026-02-31", "W10", "WyJ4Il0", "WyIxIl0")  # fmt: skip
NAMES = ("q", "p", "o", "all", "_facets", "_changelist_filters", "cursor", "source", "from", "event", "check", "page", "when", "action", "actor", "agent",
    "mission", "run", "state", "status", "started", "entry", "error", "doubt", "writes", "agent_key", "detail__x", "at__gt", "id__in", "_popup", "_to_field")  # fmt: skip


@pytest.fixture
def known(world: World) -> dict[str, list[str]]:
    """What is there, by the name of its place in an address."""
    run = ended(world)
    record(
        SCRIPT, actor=SCRIPT, mission="INC-1", agent=SCRIPT, run_id=run.id, detail={SCRIPT: SCRIPT}
    )
    concern = open_concern(opened_by=SCRIPT, actor=SCRIPT)
    row = AuditRow.objects.latest("pk")
    missions, ids = (
        ["INC-1", str(run.correlation_id)],
        [str(it) for it in (row.pk, concern.pk, run.id)],
    )
    return {
        "mission": missions,
        "object_id": ids,
        "run_id": ids[2:],
        "number": ["1", "2", "9" * 30],
    }


def addresses(patterns: list[Any], before: str) -> Iterator[URLPattern]:
    """Each of the pages, with all that stands before it."""
    for it in patterns:
        if isinstance(it, URLResolver):
            yield from addresses(it.url_patterns, f"{before}{it.pattern}")
        elif it.name and (it.name in PAGES or it.name.startswith(ROOMS)):
            it.whole = f"{before}{it.pattern}"
            yield it


def path_of(page: URLPattern, known: dict[str, list[str]], data: st.DataObject) -> str:
    """Its address, with what is there or anything else for each parameter."""
    path = str(page.whole)  # type: ignore[attr-defined]  # set above
    for name in page.pattern.converters:
        value = data.draw(st.sampled_from(known[name]) | st.sampled_from(VALUES))
        for kind in ("path:", "str:", "uuid:", "int:", ""):
            path = path.replace(f"<{kind}{name}>", quote(value, safe=""))
    assert "<" not in path
    return path


@pytest.mark.timeout(3600 if "FUZZ_EXAMPLES" in os.environ else 60)
def test_no_page_breaks_whatever_is_asked(known: dict[str, list[str]]) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    sites = [
        it
        for it in get_resolver().url_patterns
        if isinstance(it, URLResolver) and str(it.pattern) == "admin/"
    ]
    pages = [page for it in sites for page in addresses(it.url_patterns, "/admin/")]
    assert len(pages) > 25
    asked = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.text(), max_size=3)

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES * len(pages),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(page=st.sampled_from(pages), query=asked, data=st.data())
    def holds(page: URLPattern, query: dict[str, str], data: st.DataObject) -> None:
        path = path_of(page, known, data)
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path, query)
        assert answer.status_code < 500, (path, query)
        assert SCRIPT not in answer.content.decode(), (path, query)
        assert len(queries) <= MOST_STATEMENTS, (path, query, len(queries))

    holds()


def test_an_address_that_names_no_field_leads_to_its_row(known: dict[str, list[str]]) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    row = known["object_id"][0]
    for view, status in (("change", 200), ("delete", 403)):
        path = f"/admin/audit/auditrow/{row}/{view}/?_to_field="
        assert client.get(path).status_code == status
