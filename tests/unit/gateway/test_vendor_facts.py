"""What vendors document: read strictly, each with its source, and never acting by itself."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from datetime import date
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from liyagent.core.errors import BadInput, NotFound
from liyagent.core.files import parse_yaml, read_text
from liyagent.gateway.models import ToolServer
from liyagent.gateway.servers import load_servers
from liyagent.gateway.vendor_facts import FILE, facts_of, read_facts, vendor_facts

Change = Callable[[dict[str, Any]], None]


def told(*words: str) -> str:
    """What `tools facts` prints."""
    out = StringIO()
    call_command("tools", "facts", *words, stdout=out)
    return out.getvalue()


def test_every_fact_has_a_source_on_the_web_a_day_and_what_is_uncertain() -> None:
    for facts in vendor_facts().values():
        for write in facts.writes:
            assert write.says, facts.vendor
            assert write.uncertain, facts.vendor
            assert write.sources, facts.vendor
            assert all(source.read <= date(2100, 1, 1) for source in write.sources)


def test_incident_io_dedupes_for_longer_than_a_resume() -> None:
    for write in facts_of("incident-io").writes:
        assert write.key is not None
        assert (write.key.field, write.key.window) == ("idempotency_key", 86400)
        assert "CR-22" in write.decided


@pytest.mark.parametrize(
    ("vendor", "field", "window"),
    [
        ("discord", "nonce", 120),
        ("sqs", "MessageDeduplicationId", 300),
        ("sns", "MessageDeduplicationId", 300),
    ],
)
def test_short_windows_are_told_as_short(vendor: str, field: str, window: int) -> None:
    (write,) = facts_of(vendor).writes
    assert write.key is not None
    assert (write.key.field, write.key.window) == (field, window)
    assert "CR-26" in write.decided


def test_facts_are_printed_with_their_sources_and_an_unknown_vendor_is_refused() -> None:
    one = told("pagerduty")
    assert "incident_key, stored, not deduped, at most 255 characters" in one
    assert "read back  by incident_key" in one
    assert re.search(r"source +https://raw\.githubusercontent\.com/PagerDuty/\S+ \(read 2026", one)
    assert "none documented" in told("jira")
    assert set(re.findall(r"^([a-z-]+): ", told(), re.MULTILINE)) == set(vendor_facts())
    with pytest.raises(NotFound, match="'acme'; it wants one of incident-io, discord"):
        told("acme")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda it: it.pop("sources"), "vendors.sqs.writes[0].sources: is missing"),
        (lambda it: it.update(sources=[]), "sources: wants a list of at least one"),
        (
            lambda it: it["sources"][0].update(url="http://a.example"),
            "sources[0].url: is 'http://a.example'; it wants https",
        ),
        (lambda it: it["sources"][0].update(read="soon"), "read: is 'soon'; it wants a day"),
        (lambda it: it["key"].update(window=-1), "key.window: is -1; it wants a whole number"),
        (lambda it: it["key"].update(field=""), "key.field: is ''; it wants text"),
        (lambda it: it.update(key="none"), "key: wants an object with field, longest, window"),
        (lambda it: it.update(reader={"tool": ["get"]}), "reader.args: is missing"),
        (lambda it: it.update(sure="yes"), "writes[0]: does not know 'sure'"),
    ],
)
def test_a_slip_in_the_file_is_named_by_its_path(change: Change, wanted: str) -> None:
    document = copy.deepcopy(parse_yaml(read_text(FILE)))
    change(document["vendors"]["sqs"]["writes"][0])
    with pytest.raises(BadInput, match=re.escape(wanted)):
        read_facts(document)


@pytest.mark.usefixtures("fresh_db")
def test_a_server_that_names_an_unknown_vendor_is_refused_by_path() -> None:
    server = {"key": "s", "transport": "http", "url": "https://a.example/mcp", "vendor": "acme"}
    with pytest.raises(BadInput, match=r"servers\[0\]\.vendor: is 'acme'; it wants one of"):
        load_servers({"servers": [server]}, actor="me")
    with pytest.raises(ValidationError, match="it wants one of"):
        ToolServer(key="s", url="https://a.example/mcp", vendor="acme").full_clean()


@pytest.mark.field("FL-08")
@pytest.mark.usefixtures("fresh_db")
def test_naming_a_vendor_changes_no_contract() -> None:
    server = {"key": "s", "transport": "http", "url": "https://a.example/mcp"}
    server["vendor"] = "incident-io"
    (saved,) = load_servers({"servers": [{**server, "tools": {"create_incident": {}}}]}, actor="me")
    tool = saved.tools.get()
    assert (tool.key_place, tool.key_window_seconds, tool.reader) == ("none", 0, None)
