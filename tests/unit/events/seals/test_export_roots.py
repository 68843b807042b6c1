"""Roots leave in order and each once; a target that is down misses nothing; a database that was put back resumes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from events import export_roots, root_targets
from events.export_roots import compare_at_start, export_due
from events.models import Rollback, Root
from events.rollback import accept_rollback
from events.roots import root_line
from events.seal_heads import seal_now
from events.verify_pack import Pins, check
from liyagent.agents.containment import contain_all, is_everything_contained, release_all
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, Conflict, NotFound
from liyagent.core.metrics import ROOT_EXPORTS_FAILED, ROOTS_BEHIND
from liyagent.core.readiness import STATE
from tests.unit.events.seals.chains import new_chain, sql, without_triggers
from tests.unit.events.seals.root_store import OddStore, RootStore, set_target

pytestmark = pytest.mark.usefixtures("fresh_db")


def never() -> bool:
    return False


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[RootStore]:
    """A web address that roots are exported to."""
    with RootStore() as store:
        set_target(monkeypatch, store.url, "a-token")
        yield store


def make_roots(number: int) -> None:
    for _ in range(number):
        new_chain(1)
        seal_now()


def put_back(to: int) -> None:
    """As a restore does: all that was after is gone."""
    with without_triggers():
        sql("DELETE FROM events_root WHERE number > %s", to)
        sql(
            "UPDATE events_eventhead SET is_unsealed = true, sealed_count = 0, sealed_in = NULL, seal = '' WHERE sealed_in > %s",
            to,
        )


def line(number: int) -> bytes:
    root = Root.objects.get(number=number)
    return root_line(root.statement, root.signatures)


@pytest.mark.promise("EV-02")
def test_each_root_is_a_file_written_once_and_the_newest_is_named(directory: Path) -> None:
    make_roots(3)
    assert export_due(never) == 3
    names = [f"root-0001-000000000{number}.json" for number in (1, 2, 3)]
    assert sorted(it.name for it in directory.iterdir()) == ["newest.json", *names]
    assert [(directory / it).read_bytes() for it in names] == [line(1), line(2), line(3)]
    assert (directory / "newest.json").read_bytes() == line(3)
    told = check(
        iter([line(3)]),
        Pins(frozenset({orjson.loads(Root.objects.get(number=3).statement)["public"]})),
    )
    assert told.root["number"] == 3
    assert export_due(never) == 0
    make_roots(1)
    assert export_due(never) == 1


@pytest.mark.promise("EV-02")
def test_a_web_address_gets_them_in_order_with_its_token(store: RootStore) -> None:
    make_roots(2)
    assert export_due(never) == 2
    assert store.order == [
        "/roots/root-0001-0000000001.json",
        "/roots/root-0001-0000000002.json",
        "/roots/newest.json",
    ]
    assert store.tokens == {"Bearer a-token"}


def test_a_target_that_is_down_holds_up_nothing_and_gets_later_what_it_missed(
    store: RootStore,
) -> None:
    failed = ROOT_EXPORTS_FAILED._value.get()
    store.status = 503
    make_roots(2)
    assert export_due(never) == 0
    compare_at_start()
    assert Client().get("/health/ready").json() == {"status": "ready", "notes": [export_roots.NOTE]}
    store.status = 0
    make_roots(1)
    assert export_due(never) == 3
    assert ROOT_EXPORTS_FAILED._value.get() == failed + 1
    assert ROOTS_BEHIND._value.get() == 0
    assert Client().get("/health/ready").json() == {"status": "ready"}
    assert not is_everything_contained()


def test_a_target_that_never_answers_holds_up_nothing_and_gets_all_in_order_later(
    store: RootStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_targets, "ANSWER_SECONDS", 30.0)
    monkeypatch.setattr(export_roots, "START_SECONDS", 0.05)
    failed = ROOT_EXPORTS_FAILED._value.get()
    store.answers.clear()
    make_roots(1)
    began = time.monotonic()
    compare_at_start()
    assert time.monotonic() - began < 15
    monkeypatch.setattr(root_targets, "ANSWER_SECONDS", 0.2)
    exporting = threading.Thread(target=_export_in_a_thread)
    exporting.start()
    make_roots(2)
    exporting.join(timeout=5)
    assert not exporting.is_alive()
    assert ROOT_EXPORTS_FAILED._value.get() == failed + 1
    store.answers.set()
    assert export_due(never) == 3
    # A PUT that was sent and not answered is sent again, and is the same.
    assert store.order[-4:] == [
        *(f"/roots/root-0001-000000000{number}.json" for number in (1, 2, 3)),
        "/roots/newest.json",
    ]


def _export_in_a_thread() -> None:
    try:
        export_due(never)
    finally:
        connection.close()


def test_a_directory_that_vanishes_is_down_and_gets_all_in_order_once_it_is_back(
    directory: Path,
) -> None:
    make_roots(1)
    assert export_due(never) == 1
    away = directory.with_name("away")
    directory.rename(away)
    directory.write_text("a file where the directory was")
    make_roots(2)
    assert export_due(never) == 0
    directory.unlink()
    assert export_due(never) == 0
    away.rename(directory)
    assert export_due(never) == 2
    assert (directory / "newest.json").read_bytes() == line(3)


def test_what_the_target_cannot_take_is_told_once_and_noted_until_it_could(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is there can be read: that alone does not say that it is well."""
    make_roots(1)
    export_due(never)
    in_the_way = directory / "root-0001-0000000002.json"
    in_the_way.mkdir()
    make_roots(1)
    for _ in range(3):
        assert export_due(never) == 0
        assert export_roots.NOTE in STATE.notes
        assert ROOTS_BEHIND._value.get() == 1
    assert caplog.text.count(in_the_way.name) == 1
    in_the_way.rmdir()
    assert export_due(never) == 1
    assert export_roots.NOTE not in STATE.notes


def test_a_directory_that_is_not_there_is_a_target_that_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_target(monkeypatch, str(tmp_path / "later"))
    make_roots(1)
    assert export_due(never) == 0
    (tmp_path / "later").mkdir()
    assert export_due(never) == 1


def test_a_death_between_a_root_and_the_newest_sends_it_again_as_the_same(directory: Path) -> None:
    make_roots(2)
    export_due(never)
    (directory / "newest.json").write_bytes(line(1))
    assert export_due(never) == 1
    assert not is_everything_contained()


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize("way", ["behind", "grown again", "beside"])
def test_a_database_that_was_put_back_is_found_and_everything_contained(
    way: str, directory: Path
) -> None:
    make_roots(3)
    export_due(never)
    if way == "beside":
        (directory / "newest.json").write_bytes(line(2))
    put_back(to=2)
    if way != "behind":
        make_roots(2)
    if way == "beside":
        export_due(never)
    else:
        compare_at_start()
    assert is_everything_contained()
    found = Rollback.objects.get()
    assert found.reason == ("behind" if way == "behind" else "differs")
    assert AuditRow.objects.filter(action="events.rollback_found").count() == 1
    # Nothing is exported over what stands there, and a second look tells nothing new.
    newest = (directory / "newest.json").read_bytes()
    assert export_due(never) == 0
    assert (directory / "newest.json").read_bytes() == newest
    assert Rollback.objects.count() == 1


@pytest.mark.promise("EV-02")
def test_it_stays_contained_until_a_person_accepted_it_and_released_it(directory: Path) -> None:
    make_roots(3)
    export_due(never)
    put_back(to=1)
    compare_at_start()
    with pytest.raises(Conflict, match="accept-rollback"):
        release_all(actor="ann")
    sql("UPDATE agents_configversion SET is_contained = false")
    compare_at_start()
    assert is_everything_contained()
    call_command("events", "accept-rollback", "--reason", "restored after a disk died")
    assert is_everything_contained()
    release_all(actor="ann")
    compare_at_start()
    assert not is_everything_contained()
    told = orjson.loads(Root.objects.get(number=2).statement)
    assert (told["epoch"], told["accepted"]["reason"]) == (2, "restored after a disk died")
    make_roots(1)
    assert export_due(never) == 2
    assert (directory / "newest.json").read_bytes() == line(3)
    assert (directory / "root-0001-0000000003.json").exists()
    assert (directory / "root-0002-0000000003.json").read_bytes() == line(3)
    assert export_due(never) == 0
    # What was put back to before it was accepted is found as well.
    with without_triggers():
        sql("DELETE FROM events_rollback")
    put_back(to=1)
    compare_at_start()
    assert is_everything_contained()
    accept_rollback(actor="ann", reason="again")
    assert orjson.loads(Root.objects.get(number=2).statement)["epoch"] == 3


@pytest.mark.promise("EV-02")
def test_roots_of_another_database_at_the_target_stop_this_one(directory: Path) -> None:
    make_roots(1)
    export_due(never)
    with without_triggers():
        sql("DELETE FROM events_root")
        sql("DELETE FROM events_identity")
    make_roots(1)
    compare_at_start()
    assert Rollback.objects.get().reason == "other_database"
    assert is_everything_contained()
    accept_rollback(actor="ann", reason="made anew")
    assert export_due(never) == 1


@pytest.mark.promise("EV-02")
def test_what_no_key_of_ours_signed_contains_nothing_and_is_not_written_over(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_roots(1)
    for data in (b"", b"{}\n", line(1).replace(b'"number":1', b'"number":9'), b"x" * 2000):
        (directory / "newest.json").write_bytes(data)
        assert export_due(never) == 0
        assert (directory / "newest.json").read_bytes() == data
    compare_at_start()
    assert "not ours" in caplog.text
    assert not is_everything_contained()


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("there", ["half", "another of ours"])
def test_a_file_that_is_no_root_of_that_number_contains_nothing_and_is_not_written_over(
    there: str, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever may write to the target, or a target that keeps half of what it was sent, would else stop everything."""
    make_roots(1)
    export_due(never)
    data = line(1)[:40] if there == "half" else line(1)
    file = directory / "root-0001-0000000002.json"
    file.write_bytes(data)
    make_roots(1)
    assert export_due(never) == 0
    assert file.read_bytes() == data
    assert file.name in caplog.text
    assert not is_everything_contained()
    assert Rollback.objects.count() == 0
    file.unlink()
    assert export_due(never) == 1


@pytest.mark.promise("EV-02")
def test_a_root_that_was_forged_here_does_not_keep_what_was_put_back_from_being_found(
    directory: Path,
) -> None:
    make_roots(3)
    export_due(never)
    put_back(to=1)
    sql(
        "INSERT INTO events_root SELECT 2, epoch, at, 'none', signatures, heads, certificates, nodes FROM events_root"
    )
    with pytest.raises(Conflict, match="root 2 was changed or forged"):
        seal_now()
    compare_at_start()
    assert is_everything_contained()
    assert Rollback.objects.get().reason == "behind"


@pytest.mark.parametrize("way", ["drips", "endless", "packed"])
def test_a_target_whose_answer_never_ends_or_unpacks_to_more_is_down(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_targets, "WHOLE_SECONDS", 0.3)
    with OddStore(way) as url:
        set_target(monkeypatch, url)
        target = root_targets.own_target()
        assert target is not None
        began = time.monotonic()
        with target:
            if way == "packed":
                target.replace("a", b"{}")
                assert len(target.read("a") or b"") < 100_000
            else:
                with pytest.raises(root_targets.TargetDown):
                    target.read("a")
                with pytest.raises(root_targets.TargetDown):
                    target.replace("a", b"{}")
        assert time.monotonic() - began < 5


def test_nothing_is_accepted_where_nothing_was_found_or_no_reason_is_given(directory: Path) -> None:
    with pytest.raises(NotFound):
        accept_rollback(actor="ann", reason="why")
    with pytest.raises(BadInput):
        accept_rollback(actor="ann", reason=" ")
    contain_all(actor="ann", reason="of her own")
    release_all(actor="ann")


def test_it_is_due_where_a_target_is_set(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_roots.LOOKED, "at", float("-inf"))
    assert export_roots.due_values() == [True]
    export_due(never)
    assert export_roots.due_values() == [False]
    set_target(monkeypatch, "")
    monkeypatch.setattr(export_roots.LOOKED, "at", float("-inf"))
    assert export_roots.due_values() == [False]
    assert sql(f"SELECT {export_roots.DUE}", True) == [(True,)]
