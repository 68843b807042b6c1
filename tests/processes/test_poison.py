"""A run that kills every process it is carried by, and its neighbours, which do not fail for its company (ruling 11)."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
import yaml

from liyagent.demo.vendors.process import ROOT
from liyagent.launcher.ephemeral import DATABASE
from tests.memory import place_in_memory
from tests.processes.place import Place, open_place
from tests.processes.test_outages import HELD, TAKES_NOTHING, assert_kept, charged

pytestmark = [pytest.mark.timeout(180), pytest.mark.field("FL-21")]

HEALTHY, AT_A = 20, 4
# Local tools of every process here. The poisonous one ends its process as the kernel does for want of memory.
TOOLS = """
import os, signal, time
from pathlib import Path
try:
    from liyagent.gateway.local import local_tool
    from liyagent.gateway.outcome import Effect
except ImportError:
    pass  # a program that is none of ours
else:
    def wait_for(gate):
        while not (Path(__file__).parent / gate).exists():
            time.sleep(0.02)
        return {"opened": gate}

    @local_tool("poison/swallow", effect=Effect.READ)
    def swallow(payload):
        wait_for("swallow")
        os.kill(os.getpid(), signal.SIGKILL)

    @local_tool("poison/wait", effect=Effect.READ)
    def wait(payload):
        return wait_for("wait")
"""
SET_UP = """
from liyagent.agents.models import Agent
from liyagent.gateway.models import Policy, Tool, ToolServer
server = ToolServer.objects.create(key="poison", transport="local")
for name in ("swallow", "wait"):
    Tool.objects.create(server=server, name=name, effect="read")
for key in ("poisonous", "healthy"):
    Agent.objects.create(key=key, name=key, provider="scripted", model=key, write_posture="allow",
        recording="full", tool_patterns=["poison/*", "incident/*"])
policy = Policy.objects.get(is_active=True)
policy.text += '@id("poison") permit (principal, action, resource in Server::"poison");'
policy.text += '@id("file") permit (principal == Agent::"healthy", action, resource);'
policy.save(update_fields=["text"])
"""
SCRIPTS = {
    "poisonous": [
        {"text": "I look.", "calls": [{"tool": "poison/swallow"}]},
        {"text": "never said"},
    ],
    "healthy": [
        {"text": "I wait.", "calls": [{"tool": "poison/wait"}]},
        {
            "text": "I file it.",
            "calls": [
                {
                    "tool": "incident/create_incident",
                    "args": {"name": "disk 91% [{{ run }}/1]", "severity": "p3"},
                }
            ],
        },
        {"text": "All is filed."},
    ],
}
HOLDERS_OF_RESUMES = """
    SELECT content::jsonb->>'holder' AS holder, content::jsonb->>'losses' AS losses FROM events_runevent
    WHERE run_id = ANY(%s) AND kind = 'run.resumed'
"""
CARRIED_BY_ANOTHER = """
    SELECT count(*)::int AS n FROM runs_run r JOIN leases_holder h ON h.id = r.holder
    WHERE r.id = %s AND r.status = 'running' AND h.pid <> %s
"""
LOST_TWICE = (
    "UPDATE runs_run SET status = 'queued', holder = NULL, losses = 2 WHERE id = %s RETURNING id"
)
ALONE = "SELECT count(*)::int AS n FROM leases_holder WHERE id <> ALL(%s)"


@pytest.fixture(scope="module")
def poisoned() -> Iterator[tuple[Place, Path]]:
    """A place of its own, whose processes know the two tools; and the directory of their gates."""
    with tempfile.TemporaryDirectory(prefix="liyagent-poison-", dir=place_in_memory()) as directory:
        gates = Path(directory) / "gates"
        Path(directory).chmod(0o755)
        gates.mkdir()
        (gates / "sitecustomize.py").write_text(TOOLS)
        path = os.pathsep.join((str(gates), str(ROOT)))
        with open_place(
            Path(directory),
            urls=lambda cluster, _: {"DATABASE_URL": cluster.url(DATABASE), "PYTHONPATH": path},
        ) as place:
            for name, steps in SCRIPTS.items():
                script = Path(directory) / "scripts" / f"{name}.yaml"
                script.write_text(yaml.safe_dump({"steps": steps}))
            place.stage.manage("shell", "-c", SET_UP)
            yield place, gates


def start_held(place: Place, name: str, agents: Sequence[str]) -> list[UUID]:
    """Start a run of each agent at one of the two processes, while the other takes nothing; it holds them then."""
    other = place.holders({"A": "B", "B": "A"}[name])
    place.watch.rows(TAKES_NOTHING, [True, other])
    runs = place.start_runs(*agents, at=name)
    place.until(
        lambda: place.one(HELD, place.holders(name), runs) == len(runs), f"all runs at {name}"
    )
    place.watch.rows(TAKES_NOTHING, [False, other])
    return runs


def test_a_poisonous_run_fails_at_its_third_loss_and_every_healthy_one_ends(
    poisoned: tuple[Place, Path],
) -> None:
    """Four of them were in both processes that died: they are carried alone as well, and so end."""
    place, gates = poisoned
    poison, *twice = start_held(place, "A", ["poisonous", *["healthy"] * AT_A])
    once = start_held(place, "B", ["healthy"] * (HEALTHY - AT_A))
    healthy = [*twice, *once]
    (gates / "swallow").touch()
    place.stage.wait_gone("A")
    place.stage.wait_gone("B")
    serving = []
    for name in ("A", "B"):
        place.stage.start(name)
        serving.append(place.stage.pid(name))
    (gates / "wait").touch()
    place.wait_for_ends([poison, *healthy], seconds=60)
    (failed,) = place.heads([poison])
    assert (failed["status"], failed["losses"]) == ("failed", 3)
    assert "lost 3 times" in failed["reason"]
    place.until(place.stage.processes["A"].is_ready, "A")
    told = httpx2.get(
        f"{place.stage.url('A')}/api/runs/{poison}/transcript",
        headers={"Authorization": f"Bearer {place.stage.token}"},
    ).json()
    assert "lost 3 times" in told["reason"]
    assert {it["status"] for it in place.heads(healthy)} == {"answered"}
    assert {losses for losses, _ in charged(place, once)} == {1}
    assert {losses for losses, _ in charged(place, twice)} == {2}
    resumes = place.watch.rows(HOLDERS_OF_RESUMES, [healthy])
    alone = {it["holder"] for it in resumes if it["losses"] == "2"}
    assert len(alone) == AT_A
    assert not [it for it in alone if int(it.rpartition(":")[2]) in serving]
    assert place.effects(healthy)["incident"] == HEALTHY
    assert_kept(place.judged(healthy))
    place.check_chains(healthy)
    assert [place.stage.pid(name) for name in ("A", "B")] == serving
    place.until(lambda: place.one(ALONE, place.holders("A", "B")) == 0, "the end of the carriers")
    # What they leave open at their end the interpreter complains of, into the log and in no line of ours.
    said = "".join(it.read_text() for it in place.stage.logs.glob("*.log"))
    assert "Exception ignored" not in said


def test_serve_passes_sigterm_on_to_the_process_that_carries_one_run(
    poisoned: tuple[Place, Path],
) -> None:
    place, gates = poisoned
    (gates / "wait").unlink()
    place.until(lambda: all(place.stage.processes[it].is_ready() for it in "AB"), "A and B")
    (run,) = start_held(place, "A", ["healthy"])
    place.stage.signal("B", signal.SIGTERM)
    place.stage.wait_gone("B")
    place.watch.rows(LOST_TWICE, [run])
    values = (run, place.stage.pid("A"))
    place.until(lambda: place.one(CARRIED_BY_ANOTHER, *values) == 1, "its carrier")
    place.stage.signal("A", signal.SIGTERM)
    place.stage.wait_gone("A")
    (head,) = place.heads([run])
    assert (head["status"], head["losses"], head["handovers"]) == ("queued", 2, 1)
