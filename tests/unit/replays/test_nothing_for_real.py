"""Nothing of a replay is for real, as seen from outside: every table, the vendor's ledger, and who connects (RP-04)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.core import metrics
from liyagent.gateway import a2a, mcp
from liyagent.gateway.active import active_policy
from liyagent.gateway.contracts import contracts_for
from liyagent.replays.budget import Budget
from liyagent.replays.recorded import Recording
from liyagent.replays.recording import load_recording
from liyagent.replays.replay import replay_run
from runs import hot
from runs.models import Run
from sagas.models import Undo
from tests.fakes.model_server import ModelServer, Turn
from tests.unit.approvals.deciding import HOLD, approve, let_decide
from tests.unit.replays.conftest import Replays, asks
from tests.unit.runs.carrying.conftest import World, calls, never, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands

__all__ = ["cast"]

UNDOS = {"v/keyed": {"tool": "keyed", "args": {"undo_of": "{{ result.id }}"}}}
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
DIGEST = "SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM {table} t"
WRITTEN = (
    "approvals_approval",
    "audit_auditrow",
    "events_eventhead",
    "events_runevent",
    "handoffs_snapshot",
    "handoffs_version",
    "runs_call",
    "runs_part",
    "runs_run",
    "sagas_saga",
    "sagas_undo",
    "transcripts_transcript",
)


def digests(world: World) -> dict[str, Any]:
    """Every table of the database, to the last column."""
    with psycopg.connect(world.url) as session:
        names = [name for (name,) in session.execute(TABLES)]
        asked = {name: sql.SQL(DIGEST).format(table=sql.Identifier(name)) for name in names}
        return {name: session.execute(it).fetchone() for name, it in asked.items()}


def recording_of(run_id: UUID) -> Recording:
    found = load_recording(Run.objects.get(id=run_id))
    assert isinstance(found, Recording), found
    return found


@pytest.fixture
def everything(replays: Replays, cast: Cast) -> Recording:
    """A run that looked, wrote with an undo, waited for a person, was refused, and handed work down, which wrote too."""
    world = replays.world
    Agent.objects.update(compensations=UNDOS)
    world.sql(HOLD)
    Agent.objects.exclude(key="triage").update(write_posture="allow")
    let_decide("olga")
    cast.lists = {
        "triage": [
            calls(("v/look", {"n": 1}), ("v/keyed", {"n": 2})),
            calls(("v/gone", {})),
            hands("reader"),
            says("all done"),
        ],
        "reader": [calls(("v/keyed", {"by": "reader"})), says("all read")],
    }
    root = world.start()
    for name in "abcdef":
        carry_all(world, name=name)
        for request in Approval.objects.filter(status="pending"):
            approve(request)
    recording = recording_of(root.id)
    assert recording.answer == "all done"
    assert [it.name for it in recording.calls] == ["v/look", "v/keyed", "v/gone", "agents/reader"]
    assert Undo.objects.count() == 2
    replays.move_vendor()
    return recording


ALL_DONE = Turn(text="all done")
SAME = (
    asks(("v/look", {"n": 1}), ("v/keyed", {"n": 2})),
    asks(("v/gone", {})),
    asks(("agents/reader", {"task": "read it"})),
)
OTHER = (
    asks(("v/keyed", {"n": 3}), ("v/blind", {"n": 4}), ("agents/fixer", {"task": "fix it"})),
    asks(("agents/reader", {"task": "read that"})),
)


@pytest.mark.promise("RP-04")
@pytest.mark.parametrize("turns", [SAME, OTHER], ids=["as it was", "otherwise"])
@pytest.mark.parametrize("posture", ["hold", "allow", "refuse"])
@pytest.mark.parametrize("last", [ALL_DONE, Turn(text="")], ids=["answers", "fails"])
def test_no_row_of_any_table_is_another_and_nobody_is_called(
    replays: Replays, everything: Recording, turns: tuple[Turn, ...], posture: str, last: Turn
) -> None:
    world = replays.world
    Agent.objects.update(write_posture=posture)
    before, ledger = digests(world), (list(world.vendor.received), list(world.vendor.rows))
    assert set(WRITTEN) <= set(before)
    found = replays.replay(everything, *turns, last, is_moved=False)
    assert found.status == ("answered" if last.text else "failed")
    assert found.calls
    assert digests(world) == before
    assert (world.vendor.received, world.vendor.rows) == ledger
    assert replays.door.connections == 0


@pytest.mark.promise("RP-04")
def test_a_replay_asks_the_hot_path_for_nothing_and_opens_no_session(
    replays: Replays, everything: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut() -> Any:
        raise AssertionError("a replay has no business with the tables of runs")

    def no_session(*_: object) -> Any:
        raise AssertionError("a replay opens no session")

    with ModelServer([*SAME, ALL_DONE]) as server:
        agent = replays.agent(server.base_url)
        # What is read once of a configuration is read before.
        contracts_for(agent.tool_patterns, version=agent.config)
        active_policy(version=agent.config)
        monkeypatch.setattr(hot, "hot_pool", shut)
        for module in (mcp, a2a):
            monkeypatch.setattr(module, "open_way", no_session)
            monkeypatch.setattr(module, "call", no_session)
        with CaptureQueriesContext(connection) as asked:
            found = replay_run(everything, agent, strict=False, is_unwanted=never, budget=Budget())
    assert found.status == "answered"
    assert [it.how.value for it in found.calls] == ["exact", "exact", "refused", "exact"]
    # Rights are read once for each configuration; nothing else is asked of the database.
    assert all("runs_" not in it["sql"] and it["sql"].startswith("SELECT") for it in asked)
    assert len(asked) <= 8


@pytest.mark.promise("RP-04")
def test_a_replay_that_takes_too_long_asks_no_table_for_whom_it_waited(
    replays: Replays, everything: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([replace(SAME[0], delay_seconds=1.1)]) as server:
        agent = replays.agent(server.base_url, max_seconds=1)
        monkeypatch.setattr(hot, "hot_pool", lambda: pytest.fail("the tables of runs were asked"))
        found = replay_run(everything, agent, strict=False, is_unwanted=never, budget=Budget())
    assert (found.status, found.error) == ("failed", "cap.seconds")


@pytest.mark.promise("RP-04")
def test_what_a_replay_does_counts_among_no_server_s_calls_and_no_run_s_steps(
    replays: Replays, everything: Recording
) -> None:
    def counted() -> list[Any]:
        return [
            (sample.name, sample.labels, sample.value)
            for metric in metrics.REGISTRY.collect()
            for sample in metric.samples
            if "calls_settled" in sample.name or "step_seconds" in sample.name
        ]

    before = counted()
    replays.replay(everything, *SAME, ALL_DONE, is_moved=False)
    assert counted() == before
    assert before
