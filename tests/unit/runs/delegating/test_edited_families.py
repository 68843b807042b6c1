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
