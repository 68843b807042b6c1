"""A row that was changed in the database shows as not verified wherever it is told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError

from events.tags import record_key
from handoffs.content import Content
from handoffs.models import Reading, Snapshot, Version
from handoffs.tags import Stated, tag_of
from liyagent.audit.models import AuditRow
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.test_handoffs import ACTOR, ALL, opened, revised

TABLES = ("handoffs_snapshot", "handoffs_version", "handoffs_reading")


def changed_by_hand(sql: str, *values: Any) -> int:
    """Change rows as whoever owns the tables can: with the triggers off; return how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {table}_refuse_rows")
        cursor.execute(sql, values)
        count: int = cursor.rowcount
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse_rows")
    return count


@pytest.fixture
def olga(fresh_db: FreshDatabase) -> Api:
    """One who hands over, and reads what was."""
    return api_of(make_user("olga", *ACTOR))


@pytest.fixture
def thread(olga: Api) -> dict[str, Any]:
    """A thread of three versions, the second of which was read; and another thread."""
    first = opened(olga, body="one")
    second = revised(olga, first["thread"], 1, "two").data
    revised(olga, first["thread"], 2, "three")
    olga.post(f"{ALL}/{first['thread']}/readings", {"version": 2, "digest": second["digest"]})
    opened(olga, body="elsewhere")
    assert olga.get(f"{ALL}/{first['thread']}").data["chain_holds"]
    return first


OF = "WHERE thread = %s AND number = 2"
SNAPSHOT = f"WHERE digest = (SELECT digest FROM handoffs_version {OF})"
CHANGES = {
    "the body": f"UPDATE handoffs_snapshot SET body = '\"2\"' {SNAPSHOT}",
    "the body, as other text of the same JSON": f"UPDATE handoffs_snapshot SET body = ' ' || body {SNAPSHOT}",
    "a body of megabytes": f"UPDATE handoffs_snapshot SET body = repeat('x', 5000000) {SNAPSHOT}",
    "a body that is no JSON": f"UPDATE handoffs_snapshot SET body = '{{' {SNAPSHOT}",
    "the sender": f"UPDATE handoffs_snapshot SET sender = 'agent:evil' {SNAPSHOT}",
    "the recipient": f"UPDATE handoffs_snapshot SET recipient = 'eve' {SNAPSHOT}",
    "a sender with a quote": f"UPDATE handoffs_snapshot SET sender = 'a\",\"kind\":\"x' {SNAPSHOT}",
    "the kind": f"UPDATE handoffs_snapshot SET kind = 'order' {SNAPSHOT}",
    "the snapshot's digest": f"UPDATE handoffs_snapshot SET digest = repeat('a', 64) {SNAPSHOT}",
    "the snapshot away": f"DELETE FROM handoffs_snapshot {SNAPSHOT}",
    "the digest to another snapshot's": "UPDATE handoffs_version SET digest ="
    f" (SELECT digest FROM handoffs_snapshot WHERE body = '\"elsewhere\"') {OF}",
    "the author": f"UPDATE handoffs_version SET author = 'eve' {OF}",
    "the parent": f"UPDATE handoffs_version SET parent = repeat('b', 64) {OF}",
    "the run": f"UPDATE handoffs_version SET run_id = thread {OF}",
    "the chain": f"UPDATE handoffs_version SET correlation_id = thread {OF}",
    "the mission": f"UPDATE handoffs_version SET mission = 'INC-9' {OF}",
    "the tag": f"UPDATE handoffs_version SET tag = tag || '\\x00' {OF}",
    "the tag to another's": "UPDATE handoffs_version SET tag = (SELECT v.tag FROM handoffs_version v WHERE v.number = 3)"
    f" {OF}",
    "the number": f"UPDATE handoffs_version SET number = 7 {OF}",
    "the thread": f"UPDATE handoffs_version SET thread = '{UUID(int=9)}' {OF}",
}  # fmt: skip


@pytest.mark.promise("HO-01")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_row_is_not_verified(olga: Api, thread: dict[str, Any], change: str) -> None:
    before = olga.get(f"{ALL}/{thread['thread']}").data["versions"][1]
    assert changed_by_hand(change, thread["thread"]) == 1
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert shown["chain_holds"] is False
    assert shown["problems"]
    others = [
        it for it in shown["versions"] if it["digest"] == before["digest"] and it["version"] == 2
    ]
    for it in others:
        assert (it["verified"], it["problem"] != "") == (False, True)
    snapshot = olga.get(f"/api/handoff-snapshots/{before['digest']}")
    assert snapshot.status == 200
    told = [snapshot.data["verified"], *(it["verified"] for it in snapshot.data["versions"])]
    assert False in told


@pytest.mark.promise("HO-01")
@pytest.mark.promise("HO-02")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_version_that_was_taken_away_is_missed(
    olga: Api, thread: dict[str, Any], number: int
) -> None:
    """The last one too, which leaves no hole: the audit log names it, and whoever read it."""
    version = Version.objects.get(thread=thread["thread"], number=number)
    gone = "DELETE FROM handoffs_version WHERE thread = %s AND number = %s"
    assert changed_by_hand(gone, thread["thread"], number) == 1
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert (shown["chain_holds"], len(shown["versions"])) == (False, 2)
    assert any(f"version {number} was audited, and is gone" in it for it in shown["problems"])
    snapshot = olga.get(f"/api/handoff-snapshots/{version.snapshot_id}").data
    assert (snapshot["verified"], "taken away" in snapshot["problem"]) == (False, True)


def test_what_was_read_and_is_gone_is_missed_without_the_audit_log(
    olga: Api, thread: dict[str, Any]
) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditrow DISABLE TRIGGER ALL")
        cursor.execute("DELETE FROM audit_auditrow")
        cursor.execute(
            "ALTER TABLE audit_auditrow ENABLE ALWAYS TRIGGER audit_auditrow_refuse_rows"
        )
    assert olga.get(f"{ALL}/{thread['thread']}").data["chain_holds"]
    changed_by_hand("DELETE FROM handoffs_version WHERE number > 1")
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert shown["problems"] == ["version 2 was read, and is gone"]


def test_a_thread_that_was_taken_away_is_missed(olga: Api, thread: dict[str, Any]) -> None:
    changed_by_hand("DELETE FROM handoffs_version WHERE thread = %s", thread["thread"])
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert (shown["chain_holds"], shown["versions"]) == (False, [])
    assert shown["problems"][0] == "no version of it is left"
    assert revised(olga, thread["thread"], 3, "x").status == 404


@pytest.mark.promise("HO-01")
def test_a_version_that_was_added_by_hand_is_not_verified(
    olga: Api, thread: dict[str, Any]
) -> None:
    """With a digest and a parent that fit: who has no key of ours makes no tag."""
    forged = Content(sender="agent:triage", recipient="ann", kind="order", body='"Pay."')
    stated = Stated(
        thread=UUID(thread["thread"]), number=4, digest=forged.digest(), author="olga", run_id=None, correlation_id=None,
        mission=thread["mission"],
    )  # fmt: skip
    Snapshot.objects.create(
        digest=forged.digest(), sender="agent:triage", recipient="ann", kind="order", body='"Pay."'
    )
    head = Version.objects.get(thread=thread["thread"], number=3)
    for tag in (bytes(head.tag), tag_of(stated, record_key(b"e" * 32))):
        insert = (
            "INSERT INTO handoffs_version (thread, number, digest, parent, author, mission, tag)"
            " VALUES (%s, 4, %s, %s, 'olga', %s, %s)"
        )
        changed_by_hand(insert, thread["thread"], forged.digest(), head.snapshot_id, thread["mission"], tag)  # fmt: skip
        shown = olga.get(f"{ALL}/{thread['thread']}").data
        assert [it["verified"] for it in shown["versions"]] == [True, True, True, False]
        assert shown["chain_holds"] is False
        changed_by_hand("DELETE FROM handoffs_version WHERE number = 4")


def test_nothing_of_a_changed_version_goes_into_a_new_one(
    olga: Api, thread: dict[str, Any]
) -> None:
    changed_by_hand("UPDATE handoffs_snapshot SET recipient = 'eve' WHERE body = '\"three\"'")
    refused = revised(olga, thread["thread"], 3, "four")
    assert (refused.status, refused.data["code"]) == (409, "handoff.not_verified")
    assert Version.objects.filter(thread=thread["thread"]).count() == 3


def test_versions_of_a_key_that_is_gone_cannot_be_verified(
    olga: Api, thread: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handoffs.read_thread.checking_keys", lambda: [record_key(b"o" * 32)])
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert "LIYAGENT_SEAL_KEYS" in shown["versions"][0]["problem"]
    assert shown["chain_holds"] is False


@pytest.mark.promise("HO-02")
@pytest.mark.parametrize(
    "change",
    [
        lambda: Snapshot.objects.update(body="x"),
        lambda: Version.objects.update(author="x"),
        lambda: Reading.objects.update(reader="x"),
        lambda: Version.objects.all()._raw_delete("default"),
        lambda: Reading.objects.all()._raw_delete("default"),
        lambda: Snapshot.objects.all()._raw_delete("default"),
    ],
)
def test_the_database_refuses_every_change(
    olga: Api, thread: dict[str, Any], change: Callable[[], Any]
) -> None:
    with pytest.raises(IntegrityError, match="append-only"):
        change()
    assert olga.get(f"{ALL}/{thread['thread']}").data["chain_holds"]
    assert AuditRow.objects.filter(action="agent.handoff").count() == 4


ADDED = """INSERT INTO handoffs_reading (thread, number, digest, reader, tag) SELECT thread, number, digest, 'eve', {}
    FROM handoffs_version WHERE number = 1 AND thread IN (SELECT thread FROM handoffs_reading)"""


@pytest.mark.promise("HO-01")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE handoffs_reading SET reader = 'eve'",
        "UPDATE handoffs_reading SET run_id = thread",
        "UPDATE handoffs_reading SET number = 1, digest = (SELECT digest FROM handoffs_version v"
        " WHERE v.number = 1 AND v.thread = handoffs_reading.thread)",
        "UPDATE handoffs_reading SET tag = tag || '\\x00'",
        "UPDATE handoffs_reading SET tag = (SELECT tag FROM handoffs_version LIMIT 1)",
        ADDED.format("''"),
        ADDED.format("tag"),
    ],
    ids=["the reader", "the run", "what was read", "the tag", "a version's tag", "one more", "one more with a version's tag"],
)  # fmt: skip
def test_a_reading_that_was_changed_or_added_by_hand_is_told(
    olga: Api, thread: dict[str, Any], change: str
) -> None:
    assert changed_by_hand(change) == 1
    shown = olga.get(f"{ALL}/{thread['thread']}").data
    assert shown["chain_holds"] is False
    (problem,) = shown["problems"]
    assert "read version" in problem
