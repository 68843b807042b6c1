"""What whoever owns the tables, or has the rights of who serves, can do to the record by SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg

from events.chain import genesis_hash
from liyagent.core.ids import new_id

Session = psycopg.Connection[tuple[Any, ...]]
Attack = Callable[[Session, UUID], None]
TABLES = (
    "events_runevent", "events_eventhead", "events_purgecertificate", "events_root", "audit_auditrow",
)  # fmt: skip
SAME = "run_id, at, kind, mission, recording, content, hash, tag"


@contextmanager
def without_triggers(session: Session) -> Iterator[None]:
    """As only the owner can: take all triggers off, and put them back as they were."""
    rows = session.execute(
        "SELECT t.tgrelid::regclass::text, t.tgname, t.tgenabled::text FROM pg_trigger t"
        " WHERE t.tgrelid = ANY(%s::regclass[]) AND NOT t.tgisinternal",
        [[*TABLES]],
    ).fetchall()
    for table, name, _ in rows:
        session.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
    try:
        yield
    finally:
        for table, name, enabled in rows:
            how = "ENABLE ALWAYS" if enabled == "A" else "ENABLE"
            session.execute(f"ALTER TABLE {table} {how} TRIGGER {name}")


def rehash(session: Session, chain: UUID) -> None:
    """Make the chain anew over what stands there, as whoever can read the formula can, and let the head fit."""
    previous = genesis_hash(chain)
    numbers = session.execute(
        "SELECT number FROM events_runevent WHERE correlation_id = %s ORDER BY number", [chain]
    ).fetchall()
    for index, (number,) in enumerate(numbers, 1):
        (previous,) = session.execute(
            "UPDATE events_runevent SET number = %s, hash = liyagent_event_hash(%s, correlation_id, %s, run_id, at, kind,"
            " mission, recording, content) WHERE correlation_id = %s AND number = %s RETURNING hash",
            [index, previous, index, chain, number],
        ).fetchone() or (b"",)
    session.execute(
        "UPDATE events_eventhead SET count = %s, hash = %s WHERE correlation_id = %s",
        [len(numbers), previous, chain],
    )


def by(statement: str) -> Attack:
    """One statement, the chain its only value."""

    def attack(session: Session, chain: UUID) -> None:
        session.execute(statement, {"chain": chain})

    return attack


def then_rehash(attack: Attack) -> Attack:
    """The same, and all hashes fresh."""

    def attack_and_rehash(session: Session, chain: UUID) -> None:
        attack(session, chain)
        rehash(session, chain)

    return attack_and_rehash


def unseal(attack: Attack) -> Attack:
    """The same, and the seal taken off as if there had been none."""

    def attack_and_unseal(session: Session, chain: UUID) -> None:
        attack(session, chain)
        session.execute(
            "UPDATE events_eventhead SET sealed_count = 0, sealed_in = NULL, seal = '', seal_key = '', is_unsealed = true"
            " WHERE correlation_id = %s",
            [chain],
        )

    return attack_and_unseal


edit = by(
    "UPDATE events_runevent SET content = replace(content, 'done', 'gone')"
    " WHERE correlation_id = %(chain)s AND kind = 'tool.call'"
)
drop = by("DELETE FROM events_runevent WHERE correlation_id = %(chain)s AND number = 3")
cut = by(
    "DELETE FROM events_runevent e USING events_eventhead h WHERE h.correlation_id = e.correlation_id"
    " AND e.correlation_id = %(chain)s AND e.number > h.count - 2"
)
cut_front = by("DELETE FROM events_runevent WHERE correlation_id = %(chain)s AND number <= 2")
delete_head = by("DELETE FROM events_eventhead WHERE correlation_id = %(chain)s")
forge_by_hand = by(
    f"INSERT INTO events_runevent (correlation_id, number, {SAME}) SELECT correlation_id, 100, {SAME}"
    " FROM events_runevent WHERE correlation_id = %(chain)s AND number = 3"
)
forge_untagged = by(
    "SELECT liyagent_append_events(correlation_id, run_id, mission, recording, ARRAY['step'], ARRAY['{}'])"
    " FROM events_runevent WHERE correlation_id = %(chain)s AND number = 1"
)
forge_with_a_tag = by(
    "SELECT liyagent_append_events(correlation_id, run_id, mission, recording, ARRAY[kind::text],"
    " ARRAY[replace(content, 'done', 'gone') || E'\\x1f' || encode(tag, 'hex')])"
    " FROM events_runevent WHERE correlation_id = %(chain)s AND number = 3"
)
put_in_again = by(
    "SELECT liyagent_append_events(correlation_id, run_id, mission, recording, ARRAY[kind::text],"
    " ARRAY[content || E'\\x1f' || encode(tag, 'hex')])"
    " FROM events_runevent WHERE correlation_id = %(chain)s AND number = 3"
)


def keep_unsealed(session: Session, chain: UUID) -> None:
    """Something is appended, and the head says that it is sealed."""
    forge_untagged(session, chain)
    session.execute(
        "UPDATE events_eventhead SET is_unsealed = false WHERE correlation_id = %s", [chain]
    )


tell_of_a_gap = by(
    "UPDATE events_runevent SET kind = 'gap', content = '{\"missing\":1}', tag = ''"
    " WHERE correlation_id = %(chain)s AND number = 3"
)

spoil_seal = by("UPDATE events_eventhead SET seal = sha256(seal) WHERE correlation_id = %(chain)s")
edit_run = by("UPDATE runs_run SET model_steps = 1, calls_made = 0 WHERE id = %(chain)s")
edit_call = by("UPDATE runs_call SET fate = 'failed' WHERE run_id = %(chain)s")


def swap(session: Session, chain: UUID) -> None:
    """Two events change places."""
    for number, to in ((2, 1000), (3, 2), (1000, 3)):
        session.execute(
            "UPDATE events_runevent SET number = %s WHERE correlation_id = %s AND number = %s",
            [to, chain, number],
        )


def copy_to_another_run(session: Session, chain: UUID) -> UUID:
    """One run's chain under another id, with a run and a head that fit: a run that never was."""
    other = new_id(above=chain)
    for statement in (
        "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash, tag)"
        " SELECT %(other)s, number, %(other)s, at, kind, mission, recording, content, hash, tag"
        " FROM events_runevent WHERE correlation_id = %(chain)s",
        "INSERT INTO events_eventhead (correlation_id, count, hash) SELECT %(other)s, count, hash"
        " FROM events_eventhead WHERE correlation_id = %(chain)s",
    ):
        session.execute(statement, {"other": other, "chain": chain})
    return other


def forge_run(session: Session, chain: UUID) -> UUID:
    """A run that never was, all of it as a real one: its row, its head, and events that say the same."""
    other = new_id(above=chain)
    columns = session.execute(
        "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = 'runs_run'::regclass"
        " AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'correlation_id')"
    ).fetchone() or ("",)
    values = {"other": other, "chain": chain, "genesis": genesis_hash(other)}
    session.execute(
        f"INSERT INTO runs_run (id, correlation_id, {columns[0]})"
        f" SELECT %(other)s, %(other)s, {columns[0]} FROM runs_run WHERE id = %(chain)s",
        values,
    )
    session.execute(
        "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%(other)s, 0, %(genesis)s)",
        values,
    )
    session.execute(
        "SELECT liyagent_append_events(%(other)s, %(other)s, max(mission), max(recording),"
        " array_agg(kind::text ORDER BY number), array_agg(content ORDER BY number))"
        " FROM events_runevent WHERE correlation_id = %(chain)s",
        values,
    )
    return other


def forge_run_of_before_tags(session: Session, chain: UUID) -> UUID:
    """The same, and its head says that it is of a release that made no tags."""
    other = forge_run(session, chain)
    session.execute("UPDATE events_eventhead SET untagged = 99 WHERE correlation_id = %s", [other])
    return other


def delete_all(session: Session, chain: UUID) -> None:
    """A run with its events, its head and what else tells of it."""
    for table, column in (
        ("events_runevent", "correlation_id"), ("events_eventhead", "correlation_id"), ("runs_call", "correlation_id"),
        ("audit_auditrow", "correlation_id"), ("runs_run", "correlation_id"),
    ):  # fmt: skip
        session.execute(f"DELETE FROM {table} WHERE {column} = %s", [chain])


def truncate(session: Session, _chain: UUID) -> None:
    """All at once."""
    session.execute("TRUNCATE events_runevent, events_eventhead, runs_run CASCADE")


def purge_too_early(session: Session, chain: UUID) -> None:
    """A certificate that says what no purge said, and then what a purge does."""
    session.execute(
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, last_at, kept_days, at, asked_by)"
        " SELECT correlation_id, count, hash, now() - interval '400 days', 365, now(), 'x' FROM events_eventhead"
        " WHERE correlation_id = %s",
        [chain],
    )
    for table in ("events_runevent", "events_eventhead"):
        session.execute(f"DELETE FROM {table} WHERE correlation_id = %s", [chain])
