"""Heads of a family that somebody edits with SQL: every statement ends, and nobody sleeps on what has come."""

from __future__ import annotations

import pytest
from django.db import connection

from runs.models import Run
from runs.stop import stop_run
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.delegating.conftest import (
    Cast,
    hands,
    says,
    take,
    works,
)

CYCLES = {
    "its own child": "UPDATE runs_run SET parent_id = id WHERE parent_id IS NOT NULL",
    "of each other": (
        "UPDATE runs_run a SET parent_id = b.id FROM runs_run b WHERE a.parent_id IS NULL AND b.parent_id IS NOT NULL"
    ),
}


def a_family(world: World, cast: Cast) -> Run:
    """A parent that sleeps while its child is queued."""
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    parent = world.start(*cast.lists["triage"])
    run, attempt = take(first := world.process("first"), "triage")
    first.go_on(run.id, attempt)
    return parent


@pytest.mark.field("FL-81")
@pytest.mark.parametrize("edit", CYCLES.values(), ids=CYCLES)
def test_a_stop_of_a_family_that_was_made_its_own_ancestor_ends(
    world: World, cast: Cast, edit: str
) -> None:
    parent = a_family(world, cast)
    world.sql(edit)
    world.start(says("another"))
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '3s'")
    stop_run(run_id=parent.id, actor="op", reason="enough")
    assert Run.objects.filter(id=parent.id, stop_requested=True).exists()


ANOTHER_S = """
    WITH child AS (DELETE FROM runs_run WHERE parent_id IS NOT NULL RETURNING correlation_id, loop, parent_id)
    UPDATE runs_run r SET {edit}, loop = child.loop, parent_id = child.parent_id FROM child WHERE r.id = %s
"""


@pytest.mark.promise("CR-23")
@pytest.mark.parametrize("agent", ["triage", "reader"])
def test_the_answer_of_another_run_is_told_to_nobody_s_parent(
    world: World, cast: Cast, agent: str
) -> None:
    """A row that was made to look like the child's is opened with its own key, and says whose it is."""
    cast.lists = {"triage": [says("a secret")], "reader": [says("a secret")]}
    other = world.start()
    world.process("other").carry()
    parent = a_family(world, cast)
    edit = f"correlation_id = child.correlation_id, agent_key = '{agent}'"
    world.sql(ANOTHER_S.format(edit=edit), other.id)
    world.sql("SELECT liyagent_wake(%s)", parent.id)
    process = world.process("second")
    run, attempt = take(process, "triage")
    assert process.go_on(run.id, attempt).status == "answered"
    (told,) = cast.told("triage")
    assert "its answer cannot be told" in told
    assert "secret" not in told
