"""Whoever serves can add rows to the table of roots: nothing is sealed, exported, believed or built by one that is none of ours."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from events.check_roots import check_roots
from events.checking import Asked, Finding
from events.export_roots import compare_at_start, export_due
from events.models import EventHead, Rollback, Root, RunEvent
from events.pack import run_subject, write_pack
from events.rollback import accept_rollback
from events.roots import Batch, NotOurRoot, make_root, newest_root
from events.seal_heads import DUE, LOOKED, NOTE, due_values, seal_due, seal_now
from events.signing import signing_key
from events.verify_pack import Pins, check
from liyagent.agents.containment import is_everything_contained
from liyagent.core.metrics import SEALING_STOPPED
from tests.unit.events.seals.chains import append, new_chain, sql, without_triggers
from tests.unit.events.seals.root_store import set_target
from tests.unit.events.seals.test_export_roots import put_back

pytestmark = pytest.mark.usefixtures("fresh_db")

WithKeys = Callable[..., None]
OURS, FORGER, NEW = ("ours", b"o" * 32), ("forger", b"f" * 32), ("new", b"n" * 32)


TAKE_AWAY = (
    "ALTER TABLE events_root DISABLE TRIGGER events_root_refuse_rows",
    "DELETE FROM events_root WHERE number = 1234",
    "ALTER TABLE events_root ENABLE ALWAYS TRIGGER events_root_refuse_rows",
)


def never() -> bool:
    return False


def found() -> list[tuple[str, str]]:
    return [(it.where, it.reason) for it in check_roots(Asked()) if isinstance(it, Finding)]


def retire(monkeypatch: pytest.MonkeyPatch, *publics: str) -> None:
    """LIYAGENT_RETIRED_SIGNING_KEYS names these."""
    roots = dataclasses.replace(settings.LIYAGENT.roots, retired_keys=publics)
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, roots=roots))


def take_away(number: int) -> None:
    """As the owner of the tables does."""
    for statement in TAKE_AWAY:
        sql(statement.replace("1234", str(number)))


def forge(with_keys: WithKeys, batch: Batch) -> None:
    """A root that is right in all but who signed it."""
    newest = newest_root()
    with_keys(FORGER)
    assert make_root(batch, after=newest) == newest.number + 1
    with_keys(OURS)


def test_the_document_takes_a_root_away_as_these_tests_do() -> None:
    text = (Path(__file__).parents[4] / "docs" / "evidence.md").read_text()
    assert all(f"\n{it};" in text for it in TAKE_AWAY)


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_no_head_is_sealed_by_a_root_that_another_key_signed_and_that_is_told_loudly(
    with_keys: WithKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut the end off, and have our own key say that it ended there: by a root that says so."""
    with_keys(OURS)
    set_target(monkeypatch, str(tmp_path))
    chain = new_chain(is_ended=False)
    seal_now()
    digest = bytes(RunEvent.objects.get(correlation_id=chain, number=2).hash)
    forge(with_keys, Batch(heads=[(chain, 2, digest)]))
    later = new_chain()
    assert seal_due(never) == 0
    assert EventHead.objects.get(correlation_id=chain).sealed_in == 1
    assert EventHead.objects.get(correlation_id=later).sealed_in is None
    assert SEALING_STOPPED._value.get() == 1
    assert NOTE in Client().get("/health/ready").json()["notes"]
    assert ("root 2", "unknown_key") in found()
    assert export_due(never) == 1
    assert sorted(it.name for it in tmp_path.iterdir()) == [
        "newest.json",
        "root-0001-0000000001.json",
    ]
    with pytest.raises(NotOurRoot, match="key unknown here"):
        write_pack(run_subject(chain, chain), io.BytesIO())
    out = io.StringIO()
    call_command("events", "key", stdout=out)
    assert "newest root is none of ours" in out.getvalue()
    assert f"key {signing_key().public} ours signs" in out.getvalue()
    LOOKED.at = float("-inf")
    assert sql(f"SELECT {DUE}", *due_values()) == [(True,)]
    take_away(2)
    # One that owes no seal is gone on from neither.
    forge(with_keys, Batch())
    assert seal_due(never) == 0
    assert Root.objects.count() == 2
    take_away(2)
    assert seal_due(never) == 1
    assert SEALING_STOPPED._value.get() == 0
    assert NOTE not in Client().get("/health/ready").json().get("notes", [])
    assert found() == []


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_no_head_is_sealed_by_what_stands_in_the_row_of_a_root_and_was_not_closed_over() -> None:
    chain = new_chain(is_ended=False)
    digest = bytes(EventHead.objects.get(correlation_id=chain).hash)
    assert make_root(Batch(heads=[(chain, 3, digest)]), after=newest_root()) == 1
    with without_triggers():
        sql("UPDATE events_root SET heads = substr(heads, 1, 23) || '\\x02' || substr(heads, 25)")
    assert seal_due(never) == 0
    assert EventHead.objects.get(correlation_id=chain).sealed_in is None


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize(
    "change",
    [
        "number => 2, at => 'infinity'",
        "number => 2, at => '200000-01-01'",
        "number => 2, at => '4000-01-01 BC'",
        "number => 4611686018427387905",
        "number => 2, heads => 'x'",
        "number => 2, heads => sha256('a') || '\\xffffffffffffffffffffffffffffffffffffffffffffffff'::bytea",
        "number => 2, certificates => '\\xffffffffffffffff'::bytea || sha256('a')",
        "number => 2, statement => replace(statement,'\"number\":1,','\"number\":2,')",
        "number => 2, signatures => 'none'",
        "number => 2, signatures => '7'",
        "number => 2, statement => repeat('[', 2000)",
        "number => 2, owed => '\\xffffffffffffffffffffffffffffffffffffffffffffffff'::bytea",
    ],
)
def test_no_row_in_the_table_of_roots_ends_a_verification_an_export_or_a_comparison(
    change: str, directory: Path
) -> None:
    chain = new_chain()
    seal_now()
    export_due(never)
    columns = {
        it: it
        for it in (
            "number",
            "epoch",
            "at",
            "statement",
            "signatures",
            "heads",
            "certificates",
            "nodes",
            "owed",
        )
    }
    columns |= dict(it.split(" => ") for it in change.split(", ") if " => " in it)
    if "repeat" in change:
        columns["statement"] = "repeat('[', 2000)"
    sql(
        f"INSERT INTO events_root SELECT {', '.join(columns.values())} FROM events_root WHERE number = 1"
    )
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("events", "verify", "--all", stdout=out, stderr=io.StringIO())
    assert "root 2: " in out.getvalue()
    with pytest.raises(CommandError):
        call_command(
            "events", "verify", "--run", str(chain), stdout=io.StringIO(), stderr=io.StringIO()
        )
    new_chain()
    assert seal_due(never) == 0
    assert export_due(never) == 0
    with without_triggers():
        sql("DELETE FROM events_root WHERE number = 1")
    compare_at_start()
    assert is_everything_contained()


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_later_epoch_that_no_key_of_ours_signed_accepts_nothing(directory: Path) -> None:
    """Whoever puts the database back could else say in the same breath that a person had accepted it."""
    for _ in range(3):
        new_chain(1)
        seal_now()
    export_due(never)
    put_back(to=1)
    sql(
        "INSERT INTO events_root SELECT 2, 2, at, statement, signatures, heads, certificates, nodes FROM events_root"
    )
    compare_at_start()
    assert is_everything_contained()
    assert Rollback.objects.get().reason == "behind"


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize(
    ("epoch", "reason"),
    [(-5, "'x'"), (0, "'x'"), (2, "repeat('x', 3000000)"), ((1 << 31) - 1, "'x'")],
)
def test_no_acceptance_that_somebody_put_into_the_table_makes_a_root_that_is_none(
    epoch: int, reason: str, directory: Path
) -> None:
    """Who serves may add it. Our own next root would else have no form, or be too large for its target."""
    sql(
        "INSERT INTO events_rollback (found_at, reason, sentence, exported, accepted_at, accepted_by, accepted_reason, epoch)"
        f" VALUES ('infinity', 'x', 'x', '{{}}', 'infinity', 'x', {reason}, {epoch})"
    )
    for number in (1, 2):
        new_chain()
        assert seal_due(never) == 1
        assert export_due(never) == 1
        assert newest_root().number == number
    assert found() == []
    assert not is_everything_contained()
    told = 2 if epoch == 2 else 1
    assert newest_root().epoch == told
    put_back(to=1)
    compare_at_start()
    accept_rollback(actor="ann", reason="restored")
    assert newest_root().epoch == told + 1


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-41")
def test_a_key_goes_once_a_root_is_signed_by_it_and_the_next(
    with_keys: WithKeys, directory: Path
) -> None:
    """Restarted with the new one first, and then without the old one: no message, no halt, and packs hold."""
    with_keys(OURS)
    chain = new_chain(is_ended=False)
    seal_now()
    with_keys(NEW, OURS)
    seal_now()
    append(chain)
    seal_now()
    with_keys(NEW)
    assert found() == []
    later = new_chain()
    assert seal_due(never) == 1
    assert EventHead.objects.get(correlation_id=later).sealed_in == 4
    assert export_due(never) == 4
    out = io.BytesIO()
    write_pack(run_subject(later, later), out, since=1)
    # The older root bears the old key alone, which whoever checks has pinned before.
    old = Root.objects.get(number=1).statement.partition('"public":"')[2][:64]
    pins = Pins(frozenset({signing_key().public, old}))
    assert check(iter(out.getvalue().splitlines(keepends=True)), pins).since == 1


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-41")
def test_a_key_that_went_too_early_halts_until_it_is_put_back_or_named_as_retired(
    with_keys: WithKeys, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with_keys(OURS)
    public = signing_key().public
    new_chain()
    seal_now()
    new_chain()
    with_keys(NEW)
    assert found() == [("root 1", "unknown_key")]
    assert seal_due(never) == 0
    assert "docs/evidence.md" in caplog.text
    retire(monkeypatch, public)
    assert seal_due(never) == 1
    assert found() == []
    retire(monkeypatch)
    # What a root says that came after shows nothing of those before it: whoever forged one waits for the next.
    assert found() == [("root 1", "unknown_key")]
    new_chain()
    with_keys(NEW, OURS)
    assert seal_due(never) == 1
    assert found() == []
