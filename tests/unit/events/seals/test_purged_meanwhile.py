"""A chain that is purged while the record is verified, exported or sealed is no alarm, and no pack is half."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from events.checking import CHECKS, Asked, Finding
from events.models import EventHead, PurgeCertificate
from events.pack import run_subject, write_pack
from events.seal_heads import seal_now
from events.signing import signing_key
from events.verify_pack import Pins, check
from liyagent.core.errors import NotFound
from tests.databases import FreshDatabase
from tests.unit.events.seals.chains import new_chain, old_chain

pytestmark = pytest.mark.usefixtures("fresh_db")
PURGE = "SELECT chains FROM liyagent_purge_events(365, '00000000-0000-0000-0000-000000000000', 99, 99, 'x')"


@contextmanager
def purged_behind(statements: int, other: psycopg.Connection) -> Iterator[list[int]]:
    """Another purges behind so many statements of ours; what is yielded tells how many there were."""
    seen = [0]

    def count(execute: Callable[..., Any], *args: Any) -> Any:
        result = execute(*args)
        seen[0] += 1
        if seen[0] == statements:
            other.execute(PURGE)
        return result

    with connection.execute_wrapper(count):
        yield seen


def verify() -> list[Finding]:
    told = (it for look in CHECKS for it in look(Asked()))
    return [it for it in told if isinstance(it, Finding) and it.is_break]


@pytest.mark.promise("EV-08")
@pytest.mark.field("FL-82")
def test_wherever_a_chain_is_purged_no_verification_misses_it(fresh_db: FreshDatabase) -> None:
    new_chain()
    with psycopg.connect(fresh_db.url, autocommit=True) as other:
        old_chain()
        with purged_behind(1, other) as seen:
            assert verify() == []
        most = seen[0]
        for statements in range(2, most + 1):
            old_chain()
            with purged_behind(statements, other):
                assert verify() == []
    assert most > 10
    assert PurgeCertificate.objects.count() == most
    assert verify() == []


@pytest.mark.promise("EV-08")
def test_wherever_a_chain_is_purged_its_pack_is_whole_or_none(fresh_db: FreshDatabase) -> None:
    pins = Pins(frozenset({signing_key().public}))
    made = missed = 0
    with psycopg.connect(fresh_db.url, autocommit=True) as other:
        for statements in range(1, 20):
            chain, out = old_chain(), io.BytesIO()
            with purged_behind(statements, other):
                try:
                    write_pack(run_subject(chain, chain), out)
                except NotFound:
                    missed += 1
                    continue
            told = check(iter(out.getvalue().splitlines(keepends=True)), pins)
            assert (told.chains, told.events) == (1, 3)
            made += 1
    assert made > 3
    assert missed > 3
    assert not EventHead.objects.exists()
    seal_now()
    assert verify() == []
