"""Heads are sealed and closed over by signed roots, by whoever is first, beside flushes and after deaths."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction

from events.head_seals import check_seal
from events.models import EventHead, Root, RunEvent
from events.put_seals import put_seals
from events.reading import read_head
from events.reseal_heads import heads_by_key, reseal_heads
from events.root_log import RootLog, leaves_of, unpacked_heads, unpacked_held
from events.roots import Batch, make_root, newest_root
from events.seal_heads import DUE, LOOKED, due_values, seal_due, seal_now
from events.signing import signing_key
from events.verify_pack import (
    batch_leaf,
    is_consistent,
    root_by_inclusion,
    signed_root,
    verify_signature,
)
from liyagent.core.metrics import HEADS_HELD, SEALS_REFUSED
from runs.rounds import ROUNDS, due_of
from tests.databases import FreshDatabase
from tests.unit.events.seals.chains import append, hours_ago, new_chain, sql, without_triggers

pytestmark = pytest.mark.usefixtures("fresh_db")


def never() -> bool:
    return False


def statement(number: int) -> dict[str, Any]:
    return dict(orjson.loads(Root.objects.get(number=number).statement))


def wrong_with(chain: UUID) -> str:
    """What the seal on the head says."""
    head = read_head(chain)
    assert head is not None
    event = RunEvent.objects.filter(correlation_id=chain, number=head.sealed_count).first()
    found = check_seal(head, chain, None if event is None else bytes(event.hash))
    return "" if found is None else found.reason


def is_due() -> bool:
    return bool(sql(f"SELECT {DUE}", *due_values())[0][0])


@pytest.mark.promise("EV-02")
def test_what_changed_is_sealed_and_nothing_else() -> None:
    chains = [new_chain(), new_chain(5)]
    assert seal_due(never) == 1
    assert seal_due(never) == 0
    for chain, count in zip(chains, (3, 5), strict=True):
        head = EventHead.objects.get(correlation_id=chain)
        assert (head.sealed_count, head.sealed_in, head.is_unsealed) == (count, 1, False)
        assert wrong_with(chain) == ""
    append(chains[0])
    assert seal_due(never) == 1
    assert [it[:2] for it in unpacked_heads(Root.objects.get(number=2).heads)] == [(chains[0], 4)]
    assert statement(2)["totals"] == {
        "events": 9,
        "heads": 2,
        "purged_events": 0,
        "purged_heads": 0,
    }


@pytest.mark.promise("EV-02")
def test_each_root_is_signed_names_the_one_before_and_has_grown_out_of_all() -> None:
    for _ in range(9):
        new_chain(1)
        seal_due(never)
    log = RootLog()
    for root in Root.objects.order_by("number"):
        told = orjson.loads(root.statement)
        ((public, signature),) = orjson.loads(root.signatures)
        assert public == told["public"] == signing_key().public
        assert verify_signature(bytes.fromhex(public), signed_root(told), bytes.fromhex(signature))
        before = Root.objects.filter(number=root.number - 1).first()
        expected = hashlib.sha256(before.statement.encode()).digest() if before else bytes(32)
        assert told["previous"] == expected.hex()
        leaves = leaves_of(unpacked_heads(root.heads), [])
        leaf = batch_leaf(root.number, 1, leaves[0])
        for size in range(root.number, 10):
            path = log.inclusion(root.number, size=size)
            held = root_by_inclusion(leaf, index=root.number - 1, size=size, path=path)
            assert held is not None
            assert held.hex() == statement(size)["log"]
            older, newer = ((it, bytes.fromhex(statement(it)["log"])) for it in (root.number, size))
            assert is_consistent(older, newer, log.consistency(root.number, size))


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ("UPDATE events_eventhead SET count = 2", "put_back"),
        ("UPDATE events_eventhead SET sealed_count = 2", "sealed_otherwise"),
        ("UPDATE events_eventhead SET sealed_in = 7", "sealed_otherwise"),
        ("UPDATE events_eventhead SET seal = 'x'", "sealed_otherwise"),
        ("UPDATE events_eventhead SET seal_key = 'other'", "unknown_key"),
        ("UPDATE events_eventhead SET sealed_count = 0", "sealed_otherwise"),
        ("UPDATE events_runevent SET hash = sha256('x') WHERE number = 3", "sealed_otherwise"),
        ("DELETE FROM events_runevent WHERE number = 3", "sealed_otherwise"),
    ],
)
def test_the_seal_on_a_head_shows_what_was_put_back_or_written_anew(edit: str, reason: str) -> None:
    chain = new_chain()
    seal_due(never)
    with without_triggers():
        sql(edit)
    assert wrong_with(chain) == reason


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_what_was_written_anew_is_not_sealed_a_second_time() -> None:
    chain, other = new_chain(is_ended=False), new_chain(is_ended=False)
    seal_due(never)
    refused = SEALS_REFUSED._value.get()
    with without_triggers():
        sql(
            "UPDATE events_runevent SET hash = sha256('x') WHERE number = 3 AND correlation_id = %s",
            chain,
        )
        append(chain)
        append(other)
    assert seal_due(never) == 1
    assert [it[0] for it in unpacked_heads(Root.objects.get(number=2).heads)] == [other]
    assert SEALS_REFUSED._value.get() == refused + 1
    assert EventHead.objects.get(correlation_id=chain).sealed_in == 1


@pytest.mark.field("FL-41")
def test_what_a_newer_key_sealed_is_left_to_those_who_have_it_and_is_no_alarm(
    with_keys: Callable[..., None],
) -> None:
    new, old = ("new", b"n" * 32), ("old", b"o" * 32)
    with_keys(old)
    chain = new_chain(is_ended=False)
    seal_now()
    with_keys(new, old)
    append(chain)
    seal_now()
    append(chain)
    refused = SEALS_REFUSED._value.get()
    with_keys(old)
    seal_now()
    assert SEALS_REFUSED._value.get() == refused
    assert EventHead.objects.get(correlation_id=chain).is_unsealed
    with_keys(new, old)
    seal_now()
    assert EventHead.objects.get(correlation_id=chain).sealed_count == 5


@pytest.mark.promise("EV-07")
def test_a_head_that_moved_on_meanwhile_keeps_its_seal_and_is_sealed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = new_chain(is_ended=False)
    newest = newest_root()
    heads = [(chain, 3, bytes(EventHead.objects.get(correlation_id=chain).hash))]
    assert make_root(Batch(heads=heads, new_heads=1, new_events=3), after=newest) == 1
    append(chain, 2)
    assert seal_due(never) == 1
    head = EventHead.objects.get(correlation_id=chain)
    assert (head.sealed_count, head.sealed_in, head.is_unsealed) == (5, 2, False)
    assert statement(2)["totals"]["events"] == 5
    assert statement(2)["totals"]["heads"] == 1


@pytest.mark.promise("EV-02")
def test_of_two_that_make_one_number_one_does() -> None:
    newest = newest_root()
    assert make_root(Batch(), after=newest) == 1
    assert make_root(Batch(), after=newest) is None
    assert Root.objects.count() == 1


@pytest.mark.promise("EV-07")
def test_a_flush_waits_for_no_seal_and_no_seal_for_a_flush(
    fresh_db: FreshDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever holds a head delays its seal, not the next root, and nothing is counted twice."""
    chain, other = new_chain(is_ended=False), new_chain()
    with psycopg.connect(fresh_db.url) as flush:
        flush.execute(
            "SELECT 1 FROM events_eventhead WHERE correlation_id = %s FOR UPDATE", [chain]
        )
        sealing = threading.Thread(target=_seal_in_a_thread)
        sealing.start()
        sealing.join(timeout=10)
        assert not sealing.is_alive()
        assert EventHead.objects.get(correlation_id=other).sealed_in == 1
        assert EventHead.objects.get(correlation_id=chain).sealed_in is None
        for number in (2, 3):
            later = new_chain()
            assert seal_due(never) == 1
            assert EventHead.objects.get(correlation_id=later).sealed_in == number
            assert unpacked_held(Root.objects.get(number=number).owed) == {chain: 1}
        assert HEADS_HELD._value.get() == 1
        assert str(chain) in caplog.text
    append(chain)
    assert seal_due(never) == 1
    assert unpacked_held(Root.objects.get(number=4).owed) == {}
    assert HEADS_HELD._value.get() == 0
    head = EventHead.objects.get(correlation_id=chain)
    assert (head.sealed_in, head.sealed_count, head.is_unsealed) == (4, 4, False)
    totals = statement(4)["totals"]
    assert (totals["heads"], totals["events"]) == (4, 13)


def _seal_in_a_thread() -> None:
    try:
        seal_due(never)
    finally:
        connection.close()


@pytest.mark.promise("EV-07")
def test_a_head_is_locked_for_no_longer_than_its_seal_is_written_and_no_disk_is_waited_for() -> (
    None
):
    """Of the commit of the seals alone: what comes after on this connection is as durable as ever."""
    chain = new_chain()
    digest = bytes(EventHead.objects.get(correlation_id=chain).hash)
    with transaction.atomic():
        assert put_seals([(chain, 3, digest)], 1) == {}
        assert sql("SHOW synchronous_commit") == [("off",)]
    assert sql("SHOW synchronous_commit") == [("on",)]
    assert EventHead.objects.get(correlation_id=chain).sealed_in == 1


@pytest.mark.promise("EV-02")
def test_more_heads_than_a_root_holds_are_sealed_in_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("events.seal_heads.HEADS_A_ROOT", 2)
    chains = [new_chain(1) for _ in range(5)]
    assert seal_due(never) == 3
    assert [
        it for root in Root.objects.order_by("number") for it, *_ in unpacked_heads(root.heads)
    ] == sorted(chains)


def test_it_is_due_while_something_changed_and_the_newest_root_is_old_enough(
    monkeypatch: pytest.MonkeyPatch, with_keys: Callable[..., None]
) -> None:
    monkeypatch.setattr(LOOKED, "at", float("-inf"))
    assert not is_due()
    new_chain()
    assert is_due()
    seal_due(never)
    new_chain()
    monkeypatch.setattr(LOOKED, "at", float("-inf"))
    assert not is_due()
    roots = dataclasses.replace(settings.LIYAGENT.roots, seconds=0.0)
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, roots=roots))
    assert is_due()
    seal_now()
    monkeypatch.setattr(LOOKED, "at", float("-inf"))
    assert not is_due()
    with_keys(("other", b"o" * 32))
    assert is_due()
    with without_triggers():
        sql("UPDATE events_root SET statement = '{'")
    assert is_due()


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_was_set_keeps_nothing_from_being_sealed(
    hours: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_chain()
    with hours_ago(hours):
        seal_due(never)
        new_chain()
    monkeypatch.setattr(LOOKED, "at", float("-inf"))
    assert is_due()
    monkeypatch.setattr(LOOKED, "name", uuid4())
    assert seal_due(never) == 1
    assert not EventHead.objects.filter(is_unsealed=True).exists()


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-41")
def test_heads_that_an_older_key_sealed_are_sealed_anew_so_that_it_may_go(
    with_keys: Callable[..., None],
) -> None:
    old, new = ("old", b"o" * 32), ("new", b"n" * 32)
    with_keys(old)
    chain, tampered = new_chain(), new_chain()
    seal_now()
    with without_triggers():
        sql("UPDATE events_eventhead SET sealed_count = 2 WHERE correlation_id = %s", tampered)
    with_keys(new, old)
    seal_now()
    told = reseal_heads(on_progress=lambda: None)
    assert (told.done, told.left, told.broken) == (1, 0, 1)
    assert heads_by_key() == {"new": 1, "old": 1}
    with_keys(new)
    assert wrong_with(chain) == ""
    assert wrong_with(tampered) == "unknown_key"
    append(chain)
    assert seal_due(never) == 1


@pytest.mark.promise("EV-02")
def test_a_new_key_is_signed_in_by_the_one_before(with_keys: Callable[..., None]) -> None:
    new_chain()
    with_keys(("old", b"o" * 32))
    seal_due(never)
    old = signing_key().public
    with_keys(("new", b"n" * 32), ("old", b"o" * 32))
    seal_now()
    assert [it[0] for it in orjson.loads(Root.objects.get(number=2).signatures)] == [
        signing_key().public,
        old,
    ]
    new_chain()
    seal_now()
    assert [it[0] for it in orjson.loads(Root.objects.get(number=3).signatures)] == [
        signing_key().public
    ]


@pytest.mark.promise("EV-02")
def test_each_process_asks_for_it_with_the_rounds_it_makes() -> None:
    new_chain()
    rounds = {name: ROUNDS[name] for name in ("seals", "roots")}
    LOOKED.at = float("-inf")
    assert due_of(rounds) == ["seals"]
    assert rounds["seals"].look(never) == 1
    assert due_of(rounds) == []
