"""`docs/run-events.md`: each command of it is carried out, and what it names is what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from events import completeness, verdict
from events.kinds import KINDS
from liyagent.access.keys import create_key
from runs.evidence_serializers import EvidenceSerializer
from tests.docs.test_api_document import curl
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.serving import serving
from tests.unit.events.conftest import server, world
from tests.unit.events.scenes import answered
from tests.unit.runs.carrying.conftest import World

__all__ = ["server", "world"]

TEXT = (DOCS / "run-events.md").read_text()


@pytest.fixture
def places(world: World) -> Iterator[dict[str, str]]:
    run = answered(world)
    User.objects.create_superuser("root")
    token = create_key(name="docs", username="root").token
    with serving() as port:
        yield {"127.0.0.1:8000": f"127.0.0.1:{port}", "$KEY": token, "$RUN": str(run.id)}


def test_each_line_of_it_answers(places: dict[str, str]) -> None:
    answers = []
    shell = Shell(places=places)
    for line in commands_of("run-events.md"):
        if not line.startswith("curl"):
            shell.type(line)
            continue
        typed = line
        for written, meant in places.items():
            typed = typed.replace(written, meant)
        answers.append(json.loads(curl(typed)))
    whole, page, listed = answers
    assert (whole["intact"], whole["complete"], whole["agrees"], len(whole["events"])) == (
        True,
    ) * 3 + (6,)
    assert (len(page["events"]), bool(page["next"])) == (2, True)
    assert listed["runs"][0]["count"] == 6
    for said in shell.said.values():
        assert "intact, 0 incomplete" in said
    assert len(shell.said) == 3


def test_it_names_every_kind_and_what_each_tells() -> None:
    for kind in KINDS.values():
        assert f"| `{kind.name}` | {kind.tells} |" in TEXT


def test_it_names_every_reason() -> None:
    for reason in (*verdict.SENTENCES, *completeness.SENTENCES):
        assert f"`{reason}`" in TEXT, reason


def test_it_names_every_field_of_the_answer() -> None:
    told = set(re.findall(r"`([a-z_]+)`", TEXT))
    fields = set(EvidenceSerializer().fields) - {"run_id", "correlation_id", "mission", "count"}
    assert fields <= told
