"""A sealing round that dies anywhere, or is one of two at once, leaves one chain of roots without a hole, and no head behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest
from django.db import OperationalError, connection

from events.check_purges import check_purges
from events.check_roots import check_roots
from events.checking import Asked, Finding
from events.export_roots import export_due
from events.models import EventHead, Root
from events.seal_heads import LOOKED, seal_due, seal_now
from events.verify_chains import check_chains
from tests.databases import FreshDatabase
from tests.unit.events.seals.chains import append, new_chain, sql
from tests.unit.events.seals.root_store import set_target

pytestmark = pytest.mark.usefixtures("fresh_db")


def never() -> bool:
    return False


def found() -> list[Finding]:
    """All that `events verify` calls broken."""
    checks = (check_chains, check_roots, check_purges)
    told = (it for check in checks for it in check(Asked()))
    return [it for it in told if isinstance(it, Finding) and it.is_break]


def totals() -> dict[str, int]:
    root = Root.objects.first()
    assert root is not None
    return dict(orjson.loads(root.statement)["totals"])


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes once the lease of the one before has lapsed."""
    monkeypatch.setattr(LOOKED, "name", uuid4())
    sql("UPDATE leases_lease SET until = liyagent_now() - interval '1 s'")


@contextmanager
def killed_behind(statements: int, url: str) -> Iterator[None]:
    """The server ends our connection behind so many statements, as when the process is killed there."""
    seen = 0
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid

    def count(execute: Callable[..., Any], *args: Any) -> Any:
        nonlocal seen
        result = execute(*args)
        seen += 1
        if seen == statements:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        return result

    try:
        with connection.execute_wrapper(count):
            yield
    finally:
        connection.close()


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_wherever_a_sealer_dies_another_goes_on_without_a_hole(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_target(monkeypatch, str(tmp_path))
    chains = [new_chain(is_ended=False)]
    seal_now()
    deaths, is_over = 0, False
    while not is_over:
        append(chains[0], attempt=deaths + 2)
        chains.append(new_chain(1))
        another_process(monkeypatch)
        try:
            with killed_behind(deaths + 1, fresh_db.url):
                seal_due(never)
            is_over = True
        except OperationalError:
            deaths += 1
        another_process(monkeypatch)
        seal_due(never)
        if deaths % 5 == 0:
            export_due(never)
    assert deaths > 15
    export_due(never)
    numbers = list(Root.objects.order_by("number").values_list("number", flat=True))
    assert numbers == [*range(1, len(numbers) + 1)]
    assert not EventHead.objects.filter(is_unsealed=True).exists()
    assert totals()["heads"] == len(chains)
    assert totals()["events"] == sum(EventHead.objects.values_list("count", flat=True))
    assert found() == []
    names = sorted(it.name for it in tmp_path.iterdir())
    assert names == ["newest.json", *(f"root-0001-{number:010d}.json" for number in numbers)]


@pytest.mark.promise("EV-02")
@pytest.mark.promise("EV-07")
def test_of_two_sealers_at_once_neither_forks_waits_for_ever_or_drops_an_event(
    fresh_db: FreshDatabase,
) -> None:
    """While runs write, each waiting no longer for its head than a flush does."""
    chains = [new_chain(is_ended=False) for _ in range(5)]
    ended, failed = threading.Event(), []

    def seal() -> None:
        try:
            while not ended.is_set():
                seal_now()
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)
        finally:
            connection.close()

    def write(mine: list[UUID]) -> None:
        try:
            sql("SET lock_timeout = '100ms'")
            for number in range(2_000):
                append(mine[number % len(mine)], attempt=number + 2)
                if number >= 40 and Root.objects.count() > 5:
                    break
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)
        finally:
            connection.close()

    sealers = [threading.Thread(target=seal) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(chains,)) for _ in range(2)]
    for it in (*sealers, *writers):
        it.start()
    for it in writers:
        it.join(timeout=30)
    ended.set()
    for it in sealers:
        it.join(timeout=30)
    assert failed == []
    seal_now()
    assert Root.objects.count() > 5
    assert totals()["events"] == sum(EventHead.objects.values_list("count", flat=True))
    assert not EventHead.objects.filter(is_unsealed=True).exists()
    assert [it for it in found() if it.where.startswith("root")] == []
