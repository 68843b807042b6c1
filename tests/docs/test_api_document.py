"""`docs/api.md`, typed as it stands."""

from __future__ import annotations

import dataclasses
import http.client
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from liyagent.access.keys import create_key
from liyagent.agents.definitions import save_agent
from liyagent.gateway.active import forget_policies
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.local import LOCAL_TOOLS, local_tool
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.policy_versions import load_policy
from liyagent.gateway.run_as import forget_rights
from tests.databases import FreshDatabase
from tests.docs.walk import commands_of
from tests.flows.carrying import carrying
from tests.flows.serving import serving

SCRIPT = """
steps:
  - text: I look.
    calls:
      - {tool: jira/create_issue, args: {title: disk 4}}
  - text: It is full.
"""
SAID = (
    '"status": "ready"',
    '"openapi":"3.',
    '"code":"input.bad"',
    '"status":"queued"',
    '"status":"answered"',
    "event: run.started",
    "id: 4\n",
    '"agent":"triage"',
    '"next":null',
    '"fate":"done"',
)


@pytest.fixture
def place(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """What the document takes for granted: an agent, a server with a tool, a policy, a key."""
    (tmp_path / "looks.yaml").write_text(SCRIPT)
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    for forget in (forget_contracts, forget_policies, forget_rights):
        forget()
    definition = {"key": "triage", "name": "T", "provider": "scripted", "model": "looks"}
    save_agent(definition, actor="test")
    load_policy('@id("all") permit(principal, action, resource);', name="all", actor="test")
    server = ToolServer.objects.create(key="jira", transport="local")
    Tool.objects.create(server=server, name="create_issue")
    local_tool("jira/create_issue")(lambda call: {"id": "OPS-1"})
    User.objects.create_superuser("root")
    with serving() as port:
        token = create_key(name="docs", username="root").token
        yield {"127.0.0.1:8000": f"127.0.0.1:{port}", "$KEY": token}
    LOCAL_TOOLS.pop("jira/create_issue", None)


def curl(line: str) -> str:
    """Carry out what `curl` would; the few options that the document uses."""
    words = iter(shlex.split(line)[1:])
    headers: dict[str, str] = {}
    body, url, method = None, "", ""
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words).encode()
        elif word == "-X":
            method = next(words)
        elif word not in {"-s", "-N"}:
            url = word
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection.request(method or ("POST" if body else "GET"), target, body, headers)
    return connection.getresponse().read().decode()


def test_every_line_of_it_answers_as_it_says(place: dict[str, str]) -> None:
    said: list[str] = []
    for line in commands_of("api.md"):
        typed = line
        for written, meant in place.items():
            typed = typed.replace(written, meant)
        said.append(curl(typed))
        if said[-1].startswith('{"id"') and "$RUN" not in place:
            place["$RUN"] = said[-1].partition('"id":"')[2].partition('"')[0]
            with carrying():
                wait_for_end(place)
    for expected, answer in zip(SAID, said, strict=True):
        assert expected in answer


def wait_for_end(place: dict[str, Any]) -> None:
    """Let the run end, where there is one."""
    if "$RUN" in place:
        curl(
            f"curl -s -N -H 'Authorization: Bearer {place['$KEY']}' "
            f"http://{place['127.0.0.1:8000']}/api/runs/{place['$RUN']}/stream"
        )
