"""`docs/models.md`: its commands work, and its figures are the code's."""

from __future__ import annotations

from pathlib import Path

import pytest

from liyagent.agents.models import Agent
from liyagent.providers import anthropic_wire, pace, patience
from liyagent.providers.check import TOOL
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.endpoint import EndpointClient
from runs import ask
from tests.docs.walk import DOCS, Shell, commands_of
from tests.fakes.model_server import ModelServer, Turn, call

DOCUMENT = "models.md"
WORDS = " ".join((DOCS / DOCUMENT).read_text().split())
ENDPOINT = "http://127.0.0.1:11434/v1"


@pytest.mark.usefixtures("fresh_db")
def test_the_commands_of_the_document_work(tmp_path: Path) -> None:
    client_for.cache_clear()
    asked = call(TOOL.name, {"word": "blue"})
    with ModelServer([Turn(calls=[asked])] * 4) as endpoint:
        Agent.objects.create(
            key="triage", provider="openai", model="small-1", base_url=endpoint.base_url
        )
        shell = Shell(places={ENDPOINT: endpoint.base_url, ".liyagent/": f"{tmp_path}/"})
        for line in commands_of(DOCUMENT):
            shell.type(line)
    first, second, listed = shell.said.values()
    assert first == second
    shown = (DOCS / DOCUMENT).read_text().partition("one line each:\n\n")[2].partition("\n\n")[0]
    assert [line[4:24] for line in shown.splitlines()] == [line[:20] for line in first.splitlines()]
    assert "triage" in listed


def test_every_provider_with_an_endpoint_is_told_of_with_its_path() -> None:
    for name in PROVIDERS:
        client = client_for(provider=name)
        if isinstance(client, EndpointClient):
            assert f"| `{name}` | all before `{client.path}` |" in WORDS


@pytest.mark.parametrize(
    "told",
    [
        f"without one, {anthropic_wire.MOST_ANSWER_TOKENS}",
        f"{patience.IDLE_SECONDS:g} s without a byte",
        f"{pace.FIRST_GAP_SECONDS:g} s apart, up to {pace.LONGEST_GAP_SECONDS:g} s",
        f"0 and {ask.FIRST_PAUSE_SECONDS:g} s, then 1, 2, 4 and 8 s",
    ],
)
def test_its_figures_are_the_codes(told: str) -> None:
    assert told in WORDS


def test_its_patience_is_the_codes() -> None:
    assert (ask.MOST_TRIES, ask.PATIENCE_SECONDS) == (6, 5 * 60)
    assert "six times at most, and none begins later than five minutes after the first" in WORDS
