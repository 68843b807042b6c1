"""The key of a call follows from what identifies its step (CR-27)."""

from __future__ import annotations

import hashlib
from uuid import UUID, uuid4

import pytest

from runs.checkpoint import load, open_checkpoint
from runs.keys import step_key
from runs.scope import RunScope
from tests.unit.gateway.support import a_call
from tests.unit.runs.carrying.conftest import World, calls, never, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect


@pytest.mark.promise("CR-27")
def test_a_step_key_is_the_same_after_a_resume(world: World) -> None:
    asked = calls(("v/look", {"n": 0}), ("v/keyed", {"n": 1}))
    run = world.start(asked, says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.process("second").carry()
    expected = step_key(
        correlation_id=run.correlation_id,
        loop="root",
        steps_taken=1,
        provider_call_id=asked.calls[1].id,
    )
    assert [row["key"] for row in world.vendor.of("keyed")] == [expected]


@pytest.mark.promise("CR-27")
def test_a_step_key_follows_from_what_the_checkpoint_says_of_its_run(world: World) -> None:
    """Of a child: it has an id and a loop of its own, and its root's correlation id."""
    run = world.start(says("done"))
    ((_, attempt),) = world.process().take()
    checkpoint = open_checkpoint(load(run.id, attempt=attempt, give_up=never), give_up=never)
    checkpoint.run.correlation_id, checkpoint.run.loop = uuid4(), "a-delegation"
    call = a_call(provider_call_id="toolu_9f3KqLm2")
    assert RunScope(checkpoint, step=4, step_ids=[call.provider_call_id]).step_key(
        call
    ) == step_key(
        correlation_id=checkpoint.run.correlation_id,
        loop="a-delegation",
        steps_taken=4,
        provider_call_id="toolu_9f3KqLm2",
    )


@pytest.mark.promise("CR-27")
def test_a_step_key_is_the_same_in_every_process_and_release() -> None:
    """Written out: a key with anything of the process, the time or chance in it would be another one here."""
    key = step_key(
        correlation_id=UUID("018f4f2e-0000-7000-8000-000000000001"),
        loop="root",
        steps_taken=3,
        provider_call_id="toolu_9f3KqLm2",
    )
    text = b'["run-call","018f4f2e-0000-7000-8000-000000000001","root",3,"toolu_9f3KqLm2"]'
    assert key == hashlib.sha256(text).hexdigest()


@pytest.mark.promise("CR-27")
def test_each_part_of_what_identifies_a_step_changes_its_key() -> None:
    one, other = uuid4(), uuid4()
    keys = [
        step_key(correlation_id=run, loop=loop, steps_taken=steps, provider_call_id=call)
        for run in (one, other)
        for loop in ("root", "root/1")
        for steps in (1, 11)
        for call in ("toolu_a", "1toolu_a")
    ]
    assert len(set(keys)) == 16
    assert keys[0] == step_key(
        correlation_id=one, loop="root", steps_taken=1, provider_call_id="toolu_a"
    )
