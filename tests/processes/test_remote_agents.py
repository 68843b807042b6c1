"""A process killed while it asks an agent of somebody else's: one task there, whatever is known of it (CR-10, CR-24)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from tests.fakes.remote_agent import RemoteAgent
from tests.processes.place import PACE_MS, Place
from tests.processes.test_delegation import let_take
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(400)]

ASKER = "asker"
AGENT = {
    "key": ASKER,
    "name": "Asker",
    "provider": "scripted",
    "model": ASKER,
    "tool_patterns": ["remote-1-0/*", "remote-0-3/*", "peer/*"],
    "write_posture": "allow",
    "may_wait": True,
}
CALLS = "SELECT tool, fate, settlement, step_key FROM runs_call WHERE run_id = %s ORDER BY step"
TASKS = "SELECT run_id, message_id, state FROM a2a_task WHERE message_id = %s"
HOLDS_BACK_SECONDS = 6.0
WRITE_MS = 3_000


def know(place: Place, directory: Path, *, server: str, url: str, **row: Any) -> None:
    """An agent that asks the remote one once, by the shell as operators do it."""
    ask = {"tool": f"{server}/ask", "args": {"message": "File two things."}}
    steps = [
        {"delay": 0.05, "text": "I ask.", "calls": [ask]},
        {"text": "It said: {{ results.0 }}"},
    ]
    script = Path(place.stage.env["LIYAGENT_SCRIPTS_DIR"], f"{ASKER}.yaml")
    script.write_text(yaml.safe_dump({"steps": steps}))
    if not place.watch.rows("SELECT 1 AS n FROM agents_agent WHERE key = %s", [ASKER]):
        agents = directory / "agents.yaml"
        agents.write_text(yaml.safe_dump({"agents": [AGENT]}))
        place.stage.manage("agents", "load", str(agents))
        place.stage.manage("policies", "permit", ASKER, "*")
    servers = directory / "servers.yaml"
    declared = {"key": server, "transport": "a2a", "url": url, **row}
    servers.write_text(yaml.safe_dump({"servers": [declared]}))
    place.stage.manage("servers", "load", str(servers), "--sync")


@pytest.fixture(params=["1.0", "0.3"])
def remote(request: pytest.FixtureRequest) -> Iterator[RemoteAgent]:
    """An agent of somebody else's, in either version."""
    with RemoteAgent(versions=(request.param,)) as agent:
        yield agent


@pytest.mark.promise("CR-10")
@pytest.mark.promise("CR-24")
def test_a_process_killed_while_it_asks_leaves_one_task_that_is_found_or_told_unknown(
    place: Place, tmp_path: Path, remote: RemoteAgent
) -> None:
    server = f"remote-{remote.versions[0].replace('.', '-')}"
    know(place, tmp_path, server=server, url=remote.url)
    method = "SendMessage" if remote.versions == ("1.0",) else "message/send"
    remote.next(method, after=HOLDS_BACK_SECONDS)
    let_take(place, "A")
    (run,) = place.start_runs(ASKER)
    place.until(lambda: bool(remote.asked), "the message")
    let_take(place, "B")
    place.stage.signal("A", signal.SIGKILL)
    place.wait_for_ends([run], seconds=60)
    (call,) = place.watch.rows(CALLS, [run])
    can_list = remote.versions == ("1.0",)
    found = ("done", "read_back") if can_list else ("unknown", "told_unknown")
    assert (call["fate"], call["settlement"]) == found
    assert [it.meta["id"] for it in remote.asked] == [call["step_key"]]
    assert len(remote.sent()) == 1
    (head,) = place.heads([run])
    assert (head["status"], head["losses"]) == ("answered", 1)
    place.check_chains([run])


@pytest.mark.promise("CR-10")
def test_an_agent_of_ours_asks_another_over_a2a_and_the_message_is_one_task_though_the_asker_dies(
    place: Place, tmp_path: Path
) -> None:
    """Liyagent dedupes on the id of a message: keyed, it is sent again and finds its task."""
    place.stage.env["PEER_TOKEN"] = place.stage.token
    for name in "AB":
        place.stage.signal(name, signal.SIGKILL)
        place.stage.wait_gone(name)
        place.stage.start(name)
    for name in "AB":
        place.stage.wait_ready(name)
    url = f"{place.stage.url('B')}/a2a/{AGENTS['keyed']}/.well-known/agent-card.json"
    keyed = {"ask": {"key": {"place": "message_id", "window": 86_400}, "timeout": 60}}
    know(place, tmp_path, server="peer", url=url, bearer_env="PEER_TOKEN", tools=keyed)
    let_take(place, "A")
    (run,) = place.start_runs(ASKER)
    place.until(lambda: place.heads([run])[0]["attempt"] == 1, "A's take")
    let_take(place, "B")
    place.stage.vendors.set_pace("incident", before_ms=0, after_ms=WRITE_MS)

    def tasks() -> list[Any]:
        calls = place.watch.rows(CALLS, [run])
        return place.watch.rows(TASKS, [calls[0]["step_key"]]) if calls else []

    place.until(lambda: bool(tasks()), "the task", seconds=60)
    place.stage.signal("A", signal.SIGKILL)
    place.stage.set_pace(PACE_MS)
    place.wait_for_ends([run], seconds=60)
    (task,) = tasks()
    assert task["state"] == "completed"
    (call,) = place.watch.rows(CALLS, [run])
    assert (call["fate"], call["settlement"]) == ("done", "sent_with_same_key")
    assert_kept(place.judged([UUID(str(task["run_id"]))]))
    assert place.heads([run])[0]["status"] == "answered"
