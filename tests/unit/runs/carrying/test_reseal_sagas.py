"""What sagas keep is sealed anew with the newest key, and only then may an older one go (FL-41)."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from pytest_django import Settings

from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from runs.hand_off import hand_off
from runs.reseal import reseal
from runs.saga_told import context_of, told_of_undo, with_words
from runs.seals import key_uses
from sagas.models import Saga, Undo
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO, stubborn, unswept
from tests.unit.runs.carrying.test_reseal import forget_processes, with_ring

__all__ = ["stubborn", "undoing", "unswept"]

NEW = ("k2", os.urandom(32))


def is_needed(key_id: str) -> bool:
    return any(it.is_needed for it in key_uses() if it.key_id == key_id)


@pytest.mark.field("FL-41")
def test_undos_their_outcomes_and_contexts_open_under_the_new_key_alone(
    stubborn: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    run = fail(stubborn, *TWO)
    undone(stubborn)
    with_ring(settings, NEW, old)
    forget_processes(stubborn)
    assert is_needed(old[0])
    told = reseal(actor="olga")
    assert (told.left, told.broken) == (0, 0)
    with_ring(settings, NEW)
    assert not is_needed(old[0])
    newest, oldest = (told_of_undo(it) for it in with_words(Undo.objects.all()))
    assert (newest["args"], newest["error"]) == ({"undo_of": 2}, "locked by change freeze")
    assert oldest["args"] == {"undo_of": 1, "name": "a"}
    assert context_of(Saga.objects.get(id=run.id))["task"] == "look after it"


@pytest.mark.field("FL-41")
def test_one_that_is_being_undone_is_left_and_comes_through_it(
    undoing: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    run = fail(undoing, *TWO)
    with_ring(settings, NEW, old)
    forget_processes(undoing)
    assert reseal(actor="olga").left == 3, "two undos and the context"
    assert is_needed(old[0])
    undone(undoing)
    assert Saga.objects.get(id=run.id).status == "compensated"
    forget_processes(undoing)
    assert reseal(actor="olga").left == 0
    assert not is_needed(old[0])


def test_without_the_key_it_is_handed_off_all_the_same_and_says_so(
    unswept: World, settings: Settings
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket")
    run = fail(unswept, *TWO)
    undone(unswept)
    with_ring(settings, NEW)
    forget_processes(unswept)
    assert reseal(actor="olga").broken > 0
    filed = hand_off(run.id)
    assert filed is not None
    body = body_of(Ticket.objects.get())
    assert isinstance(body, dict)
    assert "cannot be opened here" in body["words"]
    assert [it["write"] for it in body["undos"]] == ["v/blind", "v/keyed"]
