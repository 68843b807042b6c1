"""Those who start one run at the same moment start it once, and none of them fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

import pytest
from django.db import connection
from psycopg.errors import UniqueViolation

from liyagent.audit.models import AuditRow
from liyagent.core.ids import new_id
from runs.models import Run
from runs.start import Started, start_run
from tests.unit.runs.carrying.conftest import World

THREADS = 6
ROUNDS = 100


def start(run_id: UUID, start_key: str = "") -> Started:
    return start_run(
        agent_key="triage", task="disk full", entry="api", started_by="ops", mission="", request_id="",
        run_id=run_id, start_key=start_key,
    )  # fmt: skip


@pytest.mark.promise("CR-05")
@pytest.mark.parametrize("key", ["", "key-"])
def test_one_run_started_by_many_at_once_is_one_start_for_each_of_them(
    world: World, key: str
) -> None:
    ids = [new_id() for _ in range(ROUNDS)]
    together = Barrier(THREADS)

    def all_of_them(_thread: int) -> list[Started]:
        try:
            started = []
            for number, run_id in enumerate(ids):
                together.wait(60)
                started.append(start(run_id, f"{key}{number}" if key else ""))
            return started
        except Exception:
            together.abort()
            raise
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(all_of_them, range(THREADS)))
    for each in answers:
        assert [it.run_id for it in each] == ids
    assert Run.objects.count() == ROUNDS
    assert AuditRow.objects.filter(action="agent.run.started").count() == ROUNDS


def test_a_run_whose_place_in_its_chain_is_another_runs_is_not_started(world: World) -> None:
    first = Run.objects.get(id=start(new_id()).run_id)
    with pytest.raises(UniqueViolation) as told:
        world.sql(
            "SELECT liyagent_start(%s, %s, NULL, %s, %s, 1, 'api', '', '', 'ops', 'metadata', 1::smallint, 'k1', %s, %s,"
            " ''::bytea, '{}', '[]', liyagent_config_version(), '', '')",
            new_id(), first.correlation_id, first.loop, first.agent_key, b"", b"",
        )  # fmt: skip
    assert told.value.diag.constraint_name == "runs_one_child_per_delegation"
    assert Run.objects.count() == 1
