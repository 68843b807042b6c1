"""A call by MCP over the death of the process that answers it, and of the one that asks: one run, one answer (CR-02, CR-22)."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import yaml

from tests.fakes.mcp_client import McpUser
from tests.processes.place import PACE_MS, WRITES_A_RUN, Place
from tests.processes.test_delegation import let_take
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(180)]

ARRIVED = "SELECT run_id, mission FROM entry_arrival WHERE way = 'mcp' AND mission = %s"
CALLS = "SELECT tool, fate, settlement, step_key FROM runs_call WHERE run_id = %s ORDER BY step"
ASKER = "mcp-asker"
AGENT = {
    "key": ASKER,
    "name": "Asker",
    "provider": "scripted",
    "model": ASKER,
    "tool_patterns": ["peer-mcp/*"],
    "write_posture": "allow",
    "may_wait": True,
}


def user_of(place: Place, name: str) -> McpUser:
    """Somebody who asks process `name`."""
    port = urlsplit(place.stage.url(name)).port
    assert port is not None
    return McpUser(port=port, token=place.stage.token)


@pytest.mark.promise("CR-02")
@pytest.mark.promise("CR-08")
def test_a_call_whose_process_is_killed_is_answered_by_the_other_when_it_is_sent_again(
    place: Place,
) -> None:
    meta = {"io.liyagent/key": "alert-4711", "io.liyagent/mission": "INC-4711"}
    ask: dict[str, Any] = {"tool": AGENTS["keyed"], "task": "File two things.", "meta": meta}
    let_take(place, "A")
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(user_of(place, "A").call, **ask)
        place.until(lambda: bool(place.watch.rows(ARRIVED, ["INC-4711"])), "the arrival")
        ((run_id, _),) = [it.values() for it in place.watch.rows(ARRIVED, ["INC-4711"])]
        place.until(lambda: place.effects([run_id])["incident"] > 0, "a write", seconds=60)
        let_take(place, "A", "B")
        place.stage.signal("A", signal.SIGKILL)
        assert asked.exception(timeout=30) is not None
    answers = [user_of(place, "B").call(**ask) for _ in range(2)]
    for answer in answers:
        assert not answer.is_error
        assert answer.content[0].text == "All is filed."
        assert answer.meta["io.liyagent/run"] == str(run_id)
        assert answer.meta["io.liyagent/mission"] == "INC-4711"
    assert_kept(place.judged([run_id], asked=WRITES_A_RUN))
    place.check_chains([run_id])


@pytest.mark.promise("CR-22")
def test_an_agent_of_ours_asks_another_by_mcp_and_the_call_is_one_run_though_the_asker_dies(
    place: Place, tmp_path: Path
) -> None:
    """Our server dedupes on the step key that our gateway sends with each call: keyed, it is sent again and finds its run."""
    place.stage.env["PEER_TOKEN"] = place.stage.token
    for name in "AB":
        place.stage.signal(name, signal.SIGKILL)
        place.stage.wait_gone(name)
        place.stage.start(name)
    for name in "AB":
        place.stage.wait_ready(name)
    know(place, tmp_path)
    let_take(place, "A")
    (run,) = place.start_runs(ASKER)
    place.until(lambda: place.heads([run])[0]["attempt"] == 1, "A's take")
    let_take(place, "B")
    place.stage.vendors.set_pace("incident", before_ms=0, after_ms=2_000)
    place.until(lambda: bool(asked_of(place, run)), "the arrival", seconds=60)
    place.stage.signal("A", signal.SIGKILL)
    place.stage.set_pace(PACE_MS)
    place.wait_for_ends([run], seconds=60)
    (call,) = place.watch.rows(CALLS, [run])
    assert (call["fate"], call["settlement"]) == ("done", "sent_with_same_key")
    (child,) = asked_of(place, run)
    assert [it["status"] for it in place.heads([run, child])] == ["answered", "answered"]
    assert_kept(place.judged([child], asked=WRITES_A_RUN))
    place.check_chains([run, child])


def asked_of(place: Place, run: UUID) -> list[UUID]:
    """The runs that were asked for by calls of this run: its mission is theirs."""
    return [it["run_id"] for it in place.watch.rows(ARRIVED, [str(run)])]


def know(place: Place, directory: Path) -> None:
    """An agent that asks one of B's by MCP, by the shell as operators do it."""
    tool = AGENTS["keyed"]
    ask: dict[str, Any] = {"tool": f"peer-mcp/{tool}", "args": {"task": "File two things."}}
    steps: list[dict[str, Any]] = [
        {"delay": 0.05, "text": "I ask.", "calls": [ask]},
        {"text": "It said: {{ results.0 }}"},
    ]
    script = Path(place.stage.env["LIYAGENT_SCRIPTS_DIR"], f"{ASKER}.yaml")
    script.write_text(yaml.safe_dump({"steps": steps}))
    server = {
        "key": "peer-mcp",
        "transport": "http",
        "url": f"{place.stage.url('B')}/mcp",
        "bearer_env": "PEER_TOKEN",
        "tools": {
            tool: {"effect": "write", "key": {"place": "meta", "window": 86_400}, "timeout": 60}
        },
    }
    for kind, rows in {"agents": [AGENT], "servers": [server]}.items():
        file = directory / f"{kind}.yaml"
        file.write_text(yaml.safe_dump({kind: rows}))
        place.stage.manage(kind, "load", str(file), *(["--sync"] if kind == "servers" else []))
    place.stage.manage("policies", "permit", ASKER, "*")
