"""`manage.py compensate`: what is owed is shown, undone and waited for; and what a Stop now would undo is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection

from liyagent.core.errors import BadInput
from runs.models import Run
from runs.preview_undo import preview_undo
from sagas.errors import SagaUnknown, UndosLeft
from sagas.models import Saga, Undo
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone, undos
from tests.unit.runs.carrying.test_hand_off import TWO, stubborn

__all__ = ["stubborn", "undoing", "world"]


def compensate(*words: str) -> str:
    out = StringIO()
    call_command("compensate", *words, stdout=out, stderr=out)
    return out.getvalue()


def carry_beside(world: World, *words: str) -> str:
    """The command in this thread; another carries the round that it starts."""

    def carry() -> None:
        try:
            process = world.process("beside")
            while not (found := process.take()):
                pass
            process.go_on(*found[0])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        carried = threads.submit(carry)
        try:
            return compensate(*words)
        finally:
            carried.result()


@pytest.mark.promise("SG-06", "SG-11")
def test_what_is_owed_is_shown_then_undone(stubborn: World) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    rounds = Run.objects.count()
    told = compensate("--owed", "--dry-run")
    assert f"run {run.id} of triage is partial" in told
    assert "v/blind" in told
    assert "v/keyed" not in told, "that one is undone"
    assert compensate(str(run.id), "--dry-run").splitlines()[1:] == told.splitlines()[1:]
    assert Run.objects.count() == rounds
    stubborn.vendor.before_effect = lambda _tool: None
    told = carry_beside(stubborn, str(run.id), "--reason", "the freeze is over")
    assert "compensated; of 2 undos 2 done" in told
    assert undos(run) == [("blind", "done", 1), ("keyed", "done", 1)]
    assert compensate("--owed") == "Nothing is owed.\n"
    assert stubborn.audit("saga.compensating")[-1]["reason"] == "the freeze is over"


def test_what_is_left_is_told_and_ends_otherwise_than_well(stubborn: World) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    with pytest.raises(UndosLeft, match="1 of 1"):
        carry_beside(stubborn, "--owed")
    assert Saga.objects.get(id=run.id).round == 2
    assert "round 3 is run" in compensate("--owed", "--no-wait")
    with pytest.raises(UndosLeft):
        compensate(str(run.id), "--wait-seconds", "0")
    assert Saga.objects.get(id=run.id).round == 3, "the round that is at it was waited for"


def test_what_cannot_be_asked_is_refused(undoing: World) -> None:
    for words in ([], [str(uuid4()), "--owed"], ["no-id"], ["--owed", "--wait-seconds", "-1"]):
        with pytest.raises(BadInput):
            compensate(*words)
    with pytest.raises(SagaUnknown):
        compensate(str(uuid4()))


@pytest.mark.promise("SG-05")
def test_what_a_stop_now_would_undo_is_told_and_nothing_is_written(undoing: World) -> None:
    undoing.start(*(calls(it) for it in TWO), says("done"))
    (place,) = undoing.process("first").take()
    run = Run.objects.get(id=place[0])
    assert preview_undo(run.id) == []
    seen: list[list[str]] = []
    undoing.vendor.before_effect = lambda _tool: seen.append(
        [it.of_tool for it in preview_undo(run.id)]
    )
    undoing.process("second").go_on(*place)
    assert seen == [[], ["keyed"]]
    assert preview_undo(run.id) == [], "it has ended"
    assert set(Undo.objects.values_list("fate", flat=True)) == {"owed"}
