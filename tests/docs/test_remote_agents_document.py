"""`docs/remote-agents.md`, typed as it stands: an agent of a Liyagent asks another of the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from liyagent.gateway import a2a
from liyagent.gateway.a2a_card import EFFECTS
from liyagent.gateway.a2a_told import UNDONE
from runs.models import Run
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_tool_servers import until

world = world_of.world
DOCUMENT = "remote-agents.md"


def test_each_line_of_the_document_does_what_it_says(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEER_TOKEN", api_of(make_user("ann", "agents.operate")).token)
    (written,) = re.findall(
        r"^```yaml\n(.*?)^```", (DOCS / DOCUMENT).read_text(), re.MULTILINE | re.DOTALL
    )
    file = tmp_path / "asker.yaml"
    file.write_text(written.replace("openai", "listed").replace("gpt-5", "list"))
    # The same list for both: `triage` may not ask, and is told so.
    world.model.steps = [calls(("peer/ask", {"message": "how full?"})), says("91%")]
    with serving() as port, carrying():
        places = {"http://127.0.0.1:8000": f"http://127.0.0.1:{port}", "asker.yaml": str(file)}
        shell = Shell(places=places)
        for line in commands_of(DOCUMENT):
            shell.type(line)
        until(lambda: Run.objects.filter(status="answered").count() == 2)
    add, check, _, report, *_ = shell.said.values()
    assert "offers ask, task, tasks" in add
    assert "protocol A2A 1.0, 3 tools" in check
    assert "sent again" in report
    asker, triage = (Run.objects.get(agent_key=it) for it in ("asker", "triage"))
    call = world.call(asker, 1)
    assert (call.fate, call.key_window_seconds) == ("done", 86_400)
    assert triage.entry == "a2a"
    assert triage.mission == asker.mission
    assert any("91%" in it for it in world.model.results())
    a2a.close_all()


def test_the_tables_of_the_document_are_those_of_the_code() -> None:
    text = (DOCS / DOCUMENT).read_text()
    tools = text.partition("| Tool |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| a (\w+):", tools, re.MULTILINE))
    assert rows == {name: effect.value for name, effect in EFFECTS.items()}
    for state in UNDONE:
        assert f"`{state}`" in text
