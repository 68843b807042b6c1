"""A server is not removed while a write of a run is in doubt at it."""

from __future__ import annotations

import pytest

from liyagent.core.errors import Conflict
from liyagent.gateway.models import ToolServer
from liyagent.gateway.servers import remove_server
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_broken_checkpoints import left_in_doubt


def test_a_server_with_a_write_in_doubt_is_not_removed_and_the_run_is_named(world: World) -> None:
    run = left_in_doubt(world)
    (key,) = world.sql("SELECT DISTINCT server FROM runs_call")[0]
    with pytest.raises(
        Conflict, match=f"(?s)is not removed: a write is in doubt at it in run {run.id}"
    ):
        remove_server(key, actor="me")
    assert ToolServer.objects.filter(key=key).exists()


def test_a_server_that_a_call_waits_for_is_not_said_to_have_a_write_in_doubt(world: World) -> None:
    world.sql("UPDATE agents_agent SET write_posture = 'hold', may_wait = true")
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    world.process().carry()
    with pytest.raises(Conflict, match=f"a call to it waits for a person in run {run.id}"):
        remove_server("v", actor="me")


def test_what_is_lost_with_a_server_is_said(world: World) -> None:
    left_in_doubt(world)
    (key,) = world.sql("SELECT DISTINCT server FROM runs_call")[0]
    world.sql(
        "UPDATE runs_call SET fate = 'unknown', late_look_at = liyagent_now(), settled_at = liyagent_now()"
        " RETURNING id"
    )
    assert remove_server(key, actor="me") == (
        "2 writes of unknown outcome are not looked for once more",
    )
    assert not ToolServer.objects.filter(key=key).exists()
