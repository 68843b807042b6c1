"""Large tool results: stored once each, so a step costs what it adds; beyond the tool's limit, an error result."""

from __future__ import annotations

import base64
import itertools
import json
import random
import time
from typing import Any

import pytest

from liyagent.core.plain import json_bytes
from liyagent.gateway.local import local_tool
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Effect, Payload
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR, Killed, die_after_effect

RESULTS = 10
SIZE, LIMIT = 10_000_000, 16 << 20
RESUME_SECONDS = 15
# Written to the log for this database alone: tests beside this one write theirs. Without the images of whole
# pages that follow upon a checkpoint, whenever that is.
WRITTEN = """
    SELECT coalesce(sum(record_length - fpi_length), 0)::bigint
    FROM pg_get_wal_records_info(%s::pg_lsn, %s::pg_lsn)
    WHERE block_ref LIKE '%%/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/%%'
"""


def place(world: World) -> str:
    """How far the database's log is written."""
    return str(world.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0])


@local_tool("v/export", effect=Effect.READ)
def export(payload: Payload) -> dict[str, Any]:
    """Answer with many bytes that do not repeat themselves, so that no compression hides them."""
    VENDOR.before_effect("export")
    made = random.Random(payload.args["n"]).randbytes(payload.args["bytes"] // 4 * 3)
    return {"rows": base64.b64encode(made).decode()}


def offer(limit_bytes: int | None) -> None:
    """Offer the export, with its own limit or with the default."""
    own = {} if limit_bytes is None else {"limit_bytes": limit_bytes}
    Tool.objects.create(server=ToolServer.objects.get(key="v"), name="export", effect="read", **own)


def steps(size: int) -> list[Any]:
    """Ten exports, a write, an answer: twelve steps."""
    exports = [calls(("v/export", {"n": n, "bytes": size})) for n in range(RESULTS)]
    return [*exports, calls(("v/keyed", {"n": 1})), says("done")]


@pytest.mark.field("FL-38")
@pytest.mark.promise("CR-09")
def test_ten_large_results_cost_each_step_what_it_adds_and_resume_in_time(world: World) -> None:
    """The agent's words are not recorded: an event keeps a digest and the length."""
    offer(LIMIT)
    world.sql("UPDATE agents_agent SET recording = 'metadata'")
    world.sql("CREATE EXTENSION pg_walinspect")
    run = world.start(*steps(SIZE))
    places: list[str] = []
    world.vendor.before_effect = lambda _tool: places.append(place(world))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    places.append(place(world))
    world.prove_dead(first)
    started = time.monotonic()
    ended = world.process("second").carry()
    seconds = time.monotonic() - started
    places.append(place(world))
    written = [
        world.sql(WRITTEN, before, after)[0][0] for before, after in itertools.pairwise(places)
    ]
    # From call to call a step is written, with the result of the step before it: steps 2 to 11, the write's mark,
    # and what the resume wrote until the end.
    assert len(written) == RESULTS + 2
    third, eleventh, last = written[1], written[RESULTS - 1], written[RESULTS + 1]
    assert 0.7 * SIZE < third < 1.2 * SIZE
    assert eleventh < 2 * third
    assert last < 2 * third
    assert sum(written) < 1.2 * RESULTS * SIZE
    assert seconds < RESUME_SECONDS
    assert (ended.status, ended.losses) == ("answered", 1)
    assert len(world.vendor.of("keyed")) == 1
    assert [len(text) > SIZE for text in world.model.results()] == [True] * RESULTS + [False]
    told = [json.loads(it.content) for it in world.events(run) if it.kind == "tool.call"]
    kept = [it["result"] for it in told if it["tool"] == "export"]
    assert [it["bytes"] for it in kept] == [len(json_bytes({"rows": "x" * SIZE}))] * RESULTS
    assert len({it["sha256"] for it in kept}) == RESULTS


@pytest.mark.field("FL-38")
def test_results_beyond_the_tool_s_limit_are_errors_and_the_run_goes_on(world: World) -> None:
    offer(None)
    run = world.start(*steps(SIZE))
    ended = world.process().carry()
    assert ended.status == "answered"
    results = world.model.results()
    assert all("could not be kept: larger than 1048576 bytes" in it for it in results[:RESULTS])
    assert len(results) == RESULTS + 1
    assert sum(len(it.content) for it in world.events(run)) < 50_000
