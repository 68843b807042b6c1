"""`events verify` finds by the roots what the rows of a chain do not show any more."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings

from events.check_export import check_export
from events.check_heads import check_heads
from events.check_roots import check_roots
from events.checking import CHECKS, Asked, Finding
from events.export_roots import export_due
from events.models import Root
from events.pack import run_subject, write_pack
from events.seal_heads import seal_now
from liyagent.core.errors import Conflict
from tests.unit.events.seals.chains import append, hours_ago, new_chain, sql, without_triggers

pytestmark = pytest.mark.usefixtures("fresh_db")
OTHER = "0190f5fe-7c00-7a00-8000-000000000001"


def never() -> bool:
    return False


def found(asked: Asked | None = None) -> list[tuple[str, str]]:
    """What is found, as (where, reason)."""
    return [
        (it.where, it.reason) for it in check_roots(asked or Asked()) if isinstance(it, Finding)
    ]


def three_roots() -> list[UUID]:
    """Chains a, b, c: a in roots 1 and 3, b in 1, c in 2."""
    chains = [new_chain(is_ended=False), new_chain()]
    seal_now()
    chains.append(new_chain())
    seal_now()
    append(chains[0])
    seal_now()
    return chains


@pytest.mark.promise("EV-02")
def test_a_record_that_nobody_touched_has_nothing_wrong() -> None:
    chains = three_roots()
    assert check_roots in CHECKS
    assert found() == []
    for chain in chains:
        assert found(Asked(first=chain, last=chain)) == []


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize(
    ("edits", "reasons"),
    [
        (["DELETE FROM events_runevent WHERE correlation_id = %(b)s", "DELETE FROM events_eventhead WHERE correlation_id = %(b)s"], {"deleted"}),
        (["DELETE FROM events_runevent WHERE correlation_id = %(b)s AND number = 3"], {"cut"}),
        (["UPDATE events_runevent SET hash = sha256('x') WHERE correlation_id = %(b)s AND number = 3"], {"rewritten"}),
        (["UPDATE events_eventhead SET count = 1 WHERE correlation_id = %(b)s"], {"put_back"}),
        (["UPDATE events_eventhead SET count = 3, sealed_count = 0, seal = '' WHERE correlation_id = %(a)s"], {"put_back"}),
        (["DELETE FROM events_root WHERE number = 2"], {"missing", "unlinked"}),
        (["UPDATE events_root SET heads = heads || substr(heads, 1, 56) WHERE number = 2"], {"other_leaves"}),
        (["UPDATE events_root SET at = at - interval '1 s' WHERE number = 2"], {"other_columns"}),
        (["UPDATE events_root SET nodes = sha256('x') WHERE number = 1"], {"other_log"}),
        (["UPDATE events_root SET statement = '{}' WHERE number = 2"], {"malformed", "unlinked"}),
        (["UPDATE events_root SET statement = statement || ' ' WHERE number = 2"], {"malformed", "unlinked"}),
        (["UPDATE events_root SET signatures = '[]' WHERE number = 2"], {"bad_signature"}),
        (["UPDATE events_root SET signatures = '7' WHERE number = 2"], {"malformed"}),
        (["UPDATE events_root SET signatures = (SELECT signatures FROM events_root WHERE number = 1) WHERE number = 2"], {"bad_signature"}),
        ([f"UPDATE events_identity SET database = '{OTHER}'"], {"other_database"}),
    ],
)  # fmt: skip
def test_each_change_is_found(edits: list[str], reasons: set[str]) -> None:
    chains = three_roots()
    with without_triggers():
        for edit in edits:
            named = edit
            for name, chain in zip("abc", chains, strict=True):
                named = named.replace(f"%({name})s", f"'{chain}'")
            sql(named)
    assert {reason for _, reason in found()} == reasons


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_one_chain_alone_is_looked_at_where_it_is_asked_for() -> None:
    chains = three_roots()
    with without_triggers():
        for chain in chains[:2]:
            sql("DELETE FROM events_runevent WHERE correlation_id = %s", chain)
            sql("DELETE FROM events_eventhead WHERE correlation_id = %s", chain)
    assert found(Asked(first=chains[1], last=chains[1])) == [
        (f"chain {chains[1]}, root 1", "deleted")
    ]
    assert found(Asked(first=chains[2])) == []


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize("there", [2, -2])
def test_what_a_chain_was_sealed_as_is_found_however_clocks_are_moved(there: float) -> None:
    """An id is made by a process's clock, a root's time by the database's, which is set by hours while both go on."""
    for hours in (30, 26):
        with hours_ago(hours):
            new_chain()
            seal_now()
    chain = new_chain(is_ended=False)
    with hours_ago(there):
        seal_now()
    new_chain()
    seal_now()
    assert found() == []
    with without_triggers():
        sql(
            "UPDATE events_runevent SET hash = sha256('x') WHERE correlation_id = %s AND number = 3",
            chain,
        )
    expected = [(f"chain {chain}, root 3", "rewritten")]
    assert found(Asked(first=chain, last=chain)) == found(Asked(first=chain)) == found() == expected


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_chain_that_is_kept_from_being_sealed_is_found_and_not_exported() -> None:
    """Whoever serves may write the column by which a round finds it: what is appended then is in no root, and in no pack."""
    chain, other = new_chain(is_ended=False), new_chain(is_ended=False)
    seal_now()
    for it in (chain, other):
        append(it, attempt=2)
    sql("UPDATE events_eventhead SET is_unsealed = false WHERE correlation_id = %s", chain)
    seal_now()
    assert [(it.where, it.reason) for it in check_heads(Asked()) if isinstance(it, Finding)] == [
        (f"chain {chain}", "kept_unsealed")
    ]
    with pytest.raises(Conflict, match="kept from being sealed"):
        write_pack(run_subject(chain, chain), io.BytesIO())
    sql("UPDATE events_eventhead SET is_unsealed = true WHERE correlation_id = %s", chain)
    write_pack(run_subject(chain, chain), io.BytesIO())
    assert [it for it in check_heads(Asked()) if isinstance(it, Finding)] == []


@pytest.mark.promise("EV-03")
def test_a_purge_is_told_by_a_certificate_that_a_root_closes_over_and_no_other() -> None:
    chains = three_roots()
    old = UUID("0150f5fe-7c00-7a00-8000-000000000001")
    told = "INSERT INTO events_purgecertificate (correlation_id, count, hash, last_at, kept_days, at, asked_by) SELECT %s, h.count, h.hash, now(), 365, now(), 'x' FROM events_eventhead h WHERE correlation_id = %s"
    with without_triggers():
        sql("ALTER TABLE events_purgecertificate DISABLE TRIGGER ALL")
        for table in ("events_eventhead", "events_runevent"):
            sql(f"UPDATE {table} SET correlation_id = %s WHERE correlation_id = %s", old, chains[1])
        sql(
            "UPDATE events_eventhead SET is_unsealed = true, sealed_count = 0, seal = '', sealed_in = NULL WHERE correlation_id = %s",
            old,
        )
        seal_now()
        for chain in (chains[2], old):
            sql(told, chain, chain)
            for table in ("events_eventhead", "events_runevent"):
                sql(f"DELETE FROM {table} WHERE correlation_id = %s", chain)
    new_chain()
    seal_now()
    root = Root.objects.get(number=5)
    assert bytes(root.certificates)
    assert '"purged_events":6,"purged_heads":2' in root.statement
    # The one that was purged a year before it could be, and the one whose id was changed under its events.
    expected = {
        (f"chain {chains[1]}, root 1", "deleted"),
        (f"chain {chains[2]}, root 2", "purged_early"),
    }
    assert set(found()) == expected
    sql("UPDATE events_purgecertificate SET kept_days = 9 WHERE correlation_id = %s", old)
    assert set(found()) == {*expected, ("purge 2, root 5", "certificate_gone")}
    sql("DELETE FROM events_purgecertificate WHERE correlation_id = %s", old)
    assert (f"chain {old}, root 4", "deleted") in found()


@pytest.mark.promise("EV-02")
def test_what_was_exported_is_compared_and_nothing_contained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[str]:
        return [it.reason for it in check_export(Asked()) if isinstance(it, Finding)]

    assert told() == []
    roots = dataclasses.replace(settings.LIYAGENT.roots, export=str(tmp_path / "roots"))
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, roots=roots))
    assert told() == ["down"]
    (tmp_path / "roots").mkdir()
    three_roots()
    export_due(never)
    assert told() == []
    with without_triggers():
        sql("DELETE FROM events_root WHERE number = 3")
    assert told() == ["behind"]
    (tmp_path / "roots" / "newest.json").write_text("{}\n")
    assert told() == ["not_ours"]
