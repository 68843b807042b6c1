"""What a round had on its way when it ended is shown as it stands: done, unknown or failed, never as owed (SG-06, SG-07)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_django import Settings

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.gateway.local import ToolFailed
from runs import hot
from runs.compensate import compensate_run
from runs.models import Call, Run
from runs.settle_by_person import it_happened
from sagas.errors import NothingOwed
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import CutPool, let_decide
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import word
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

__all__ = ["undoing"]

BUMP = "UPDATE agents_configversion SET version = version + 1"
ONE = (("v/blind", {"x": 1}),)


def contain(world: World, *, is_contained: bool = True) -> None:
    Agent.objects.update(is_contained=is_contained)
    world.sql(BUMP)


def die_behind(world: World, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Carry the round until the process dies behind this statement's commit."""

    def die() -> None:
        raise Killed

    process = world.process("first")
    pool = CutPool(function, is_after=True, act=die)
    with monkeypatch.context() as cutting:
        cutting.setattr(hot, "hot_pool", lambda: pool)
        with pytest.raises(Killed):
            process.carry()
    world.lapse(process)


def made(world: World) -> list[int]:
    return [it["undo_of"] for it in world.vendor.rows if "undo_of" in it]


@pytest.mark.promise("SG-06")
def test_an_undo_is_done_from_the_commit_on_that_settles_it(
    undoing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fail(undoing, *ONE)
    die_behind(undoing, monkeypatch, "liyagent_settle")
    assert Undo.objects.get().fate == "done"
    contain(undoing)
    assert undoing.process("second").carry().error == "agent.contained"
    assert Saga.objects.get(id=run.id).status == "compensated"
    with pytest.raises(NothingOwed):
        compensate_run(run_id=run.id, actor="olga")
    assert made(undoing) == [1]
    round_ = Run.objects.get(loop="undo:1")
    assert [it.kind for it in undoing.events(round_)].count("saga.undone") == 1


def test_it_is_told_once_whoever_takes_over(
    undoing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(undoing, *ONE)
    die_behind(undoing, monkeypatch, "liyagent_settle")
    undone(undoing)
    round_ = Run.objects.get(loop="undo:1")
    assert [it.kind for it in undoing.events(round_)].count("saga.undone") == 1
    assert [it["tries"] for it in undoing.audit("saga.compensation")] == [1]


@pytest.mark.promise("SG-06", "SG-07")
def test_one_on_its_way_when_the_round_ended_is_unknown(undoing: World) -> None:
    run = fail(undoing, *ONE)
    first = undoing.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    undoing.lapse(first)
    contain(undoing)
    assert undoing.process("second").carry().error == "agent.contained"
    assert (Undo.objects.get().fate, Undo.objects.get().tries) == ("unknown", 1)
    assert Saga.objects.get(id=run.id).status == "partial"
    contain(undoing, is_contained=False)
    with pytest.raises(NothingOwed):
        compensate_run(run_id=run.id, actor="olga")
    doubt = Call.objects.get(fate="unknown")
    it_happened(call_id=doubt.id, result=None, actor="olga", reason="seen")
    assert Undo.objects.get().fate == "done"
    assert Saga.objects.get(id=run.id).status == "compensated"


def test_one_that_failed_is_failed_though_its_round_did_not_come_to_tell(
    undoing: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    fail(undoing, *ONE)

    def fails(_tool: str) -> None:
        raise ToolFailed("locked by change freeze")

    undoing.vendor.before_effect = fails
    die_behind(undoing, monkeypatch, "liyagent_settle")
    contain(undoing)
    undoing.process("second").carry()
    assert (Undo.objects.get().fate, Undo.objects.get().tries) == ("failed", 1)


@pytest.mark.promise("SG-07")
def test_an_approved_one_on_its_way_when_its_run_ended_is_unknown(undoing: World) -> None:
    let_decide("kim")
    fail(undoing, *ONE)
    undoing.sql("UPDATE gateway_tool SET fingerprint = 'another' WHERE name = 'blind'")
    undone(undoing)
    asked = Approval.objects.get(kind="call")
    word(asked, ApprovalStatus.APPROVED)
    first = undoing.process("first")
    die_after_effect("blind")
    with pytest.raises(Killed):
        first.carry()
    undoing.lapse(first)
    contain(undoing)
    undoing.process("second").carry()
    assert made(undoing) == [1]
    assert Undo.objects.get().fate == "unknown"
