"""Requests sealed under an old key are told of and sealed anew with the runs; a key gone too early decides nothing."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest
from pytest_django import Settings

from liyagent.approvals.models import Approval
from liyagent.approvals.words import WORDS, arguments_of
from liyagent.core.seal import KeyMissing, Sealer
from runs.models import Run
from runs.reseal import reseal
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, reject, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_reseal import forget_processes, use_of, with_ring

NEW = ("k2", os.urandom(32))


@pytest.mark.field("FL-41")
@pytest.mark.parametrize("may_wait", [True, False])
def test_an_open_request_sealed_anew_is_shown_decided_and_made_under_the_new_key_alone(
    held: World, settings: Settings, may_wait: bool
) -> None:
    if not may_wait:
        held.sql(HOLD_AND_GO_ON)
    old = settings.LIYAGENT.seal_keys[0]
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    with_ring(settings, NEW, old)
    forget_processes(held)
    use = use_of(old[0])
    assert (use.requests, use.waiting, use.ended) == (1, int(may_wait), int(not may_wait))
    told = reseal(actor="olga")
    assert (told.done, told.requests, told.left, told.broken) == (1, 1, 0, 0)
    assert held.audit("seals.resealed") == [{"key": "k2", "runs": 1, "requests": 1, "rows": 0}]
    assert not use_of(old[0]).is_needed
    assert use_of("k2").requests == 1
    with_ring(settings, NEW)
    assert arguments_of(the_request()) == {"n": 1}
    approve(the_request())
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["keyed"]


def test_a_request_keeps_its_key_needed_when_no_run_does(held: World, settings: Settings) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    reject(the_request())
    held.process("second").carry()
    forget_processes(held)
    old = settings.LIYAGENT.seal_keys[0]
    with_ring(settings, NEW, old)
    held.sql("UPDATE runs_run SET key_id = 'k2'")
    assert use_of(old[0]).is_needed
    assert reseal(actor="olga").requests == 1
    assert reseal(actor="olga").requests == 0
    assert not use_of(old[0]).is_needed


@pytest.mark.parametrize("may_wait", [True, False])
def test_a_key_that_is_gone_lets_nobody_decide_and_nothing_is_lost(
    held: World, settings: Settings, may_wait: bool
) -> None:
    """What nobody can read, nobody approves; once the key is back it is as it was."""
    if not may_wait:
        held.sql(HOLD_AND_GO_ON)
    kept = settings.LIYAGENT
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    with_ring(settings, NEW)
    forget_processes(held)
    for decide in (approve, reject):
        with pytest.raises(KeyMissing, match="which is not here"):
            decide(the_request())
    told = reseal(actor="olga")
    assert (told.done, told.requests, told.broken) == (0, 0, 2)
    assert (the_request().status, Run.objects.count()) == ("pending", 1)
    settings.LIYAGENT = kept
    approve(the_request())
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["keyed"]


def test_an_approval_that_a_process_cannot_verify_is_left_to_one_that_can_and_is_no_loss(
    held: World, settings: Settings
) -> None:
    """While keys are rotated the request may be sealed with one that the process of the run does not know yet."""
    old = settings.LIYAGENT.seal_keys[0]
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    with_ring(settings, NEW, old)
    held.process("first").carry()
    assert approve(the_request()).key_id == "k2"
    with_ring(settings, old)
    waits = held.process("second").carry()
    assert (waits.status, waits.losses, waits.not_before is None) == ("queued", 0, False)
    assert (held.vendor.received, the_request().status) == ([], "approved")
    with_ring(settings, NEW, old)
    held.sql("UPDATE runs_run SET not_before = NULL")
    assert held.process("third").carry().status == "answered"
    assert (held.vendor.received, held.call(run, 1).fate) == (["keyed"], "done")


def test_a_request_approved_while_it_is_sealed_anew_keeps_its_decision(
    held: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    with_ring(settings, NEW, settings.LIYAGENT.seal_keys[0])
    forget_processes(held)
    real = Sealer.seal

    def approved_meanwhile(sealer: Sealer, data: Any, *, kind: str, **place: Any) -> bytes:
        if kind == WORDS and the_request().status == "pending":
            monkeypatch.setattr(Sealer, "seal", real)
            approve(the_request())
        return real(sealer, data, kind=kind, **place)

    monkeypatch.setattr(Sealer, "seal", approved_meanwhile)
    told = reseal(actor="olga")
    assert (told.requests, told.left) == (0, 1)
    assert reseal(actor="olga").requests == 1
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["keyed"]


def test_a_request_that_was_tampered_with_is_counted_as_broken_and_left(
    held: World, settings: Settings
) -> None:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    with_ring(settings, NEW, settings.LIYAGENT.seal_keys[0])
    forget_processes(held)
    held.sql(r"UPDATE approvals_approval SET sealed = '\x00'::bytea || sealed")
    told = reseal(actor="olga")
    assert (told.done, told.requests, told.broken) == (1, 0, 1)
    assert Approval.objects.exclude(key_id="k2").count() == 1


def test_many_requests_are_sealed_anew_in_pieces(
    held: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.reseal.BATCH", 2)
    held.sql(HOLD_AND_GO_ON)
    asked = [("v/keyed", {"n": number}) for number in range(5)]
    held.start(calls(*asked), says("done"))
    held.process("first").carry()
    with_ring(settings, NEW, settings.LIYAGENT.seal_keys[0])
    forget_processes(held)
    seen: list[int] = []
    told = reseal(
        actor="olga", on_progress=lambda it: seen.append(dataclasses.replace(it).requests)
    )
    assert (told.requests, seen) == (5, [0, 2, 4, 5])
