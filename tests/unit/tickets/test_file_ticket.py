"""A failed run files one ticket, whole, in the commit of its hand-off (SG-09)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, connections, transaction

from liyagent.audit.models import AuditRow
from liyagent.core.ids import new_id
from liyagent.core.seal import SealBroken
from liyagent.core.transactions import NoTransaction
from liyagent.tickets.body import LARGEST_BODY_BYTES, body_text, fitted, sections_of
from liyagent.tickets.errors import BadTicket
from liyagent.tickets.file_ticket import file_ticket
from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from tests.unit.tickets.conftest import BODY, Filing, filed


@pytest.mark.promise("SG-09")
def test_a_ticket_is_p2_for_the_service_desk_and_holds_its_words_sealed(file: Filing) -> None:
    ticket = file()
    assert (ticket.number, ticket.state, ticket.priority, ticket.queue) == ("T-000001", "open", "P2", "Service Desk L1")  # fmt: skip
    assert body_of(ticket) == BODY
    assert b"502" not in bytes(ticket.sealed)
    row = AuditRow.objects.get(action="ticket.filed")
    assert (row.mission, row.run_id, row.agent, row.actor) == ("INC-1", ticket.run_id, "triage", "system")  # fmt: skip
    assert row.detail == {"ticket": "T-000001", "priority": "P2", "queue": "Service Desk L1", "source": ticket.source}  # fmt: skip


def file_and_fail() -> None:
    with transaction.atomic(durable=True):
        file_ticket(source_kind="saga", source_id="s", subject="a", body="b", actor="x")
        raise ZeroDivisionError


@pytest.mark.promise("SG-09")
def test_one_source_has_one_ticket_however_often_and_by_however_many_it_is_filed(
    file: Filing,
) -> None:
    run_id = new_id()
    first = file(run_id=run_id)
    assert file(run_id=run_id, subject="told again", priority="P1").id == first.id
    assert Ticket.objects.get().subject == "Run of triage failed"
    assert AuditRow.objects.filter(action="ticket.filed").count() == 1


@pytest.mark.promise("SG-09")
def test_of_two_that_file_for_one_source_at_once_the_later_finds_the_ticket_of_the_other(
    file: Filing,
) -> None:
    run_id = new_id()
    found: list[Any] = []

    def second() -> None:
        try:
            found.append(filed(run_id=run_id).id)
        finally:
            connections.close_all()

    thread = threading.Thread(target=second)
    with transaction.atomic(durable=True):
        first = file_ticket(source_kind="saga", source_id=str(run_id), subject="a", body="b", actor="x")  # fmt: skip
        thread.start()
        wait_until_blocked()
    thread.join(10)
    assert found == [first.id]
    assert AuditRow.objects.filter(action="ticket.filed").count() == 1


def wait_until_blocked() -> None:
    """Until another connection waits for what this one holds."""
    with connection.cursor() as cursor:
        for _ in range(100_000):
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits")


def test_it_is_filed_within_the_commit_of_its_caller_alone(file: Filing) -> None:
    with pytest.raises(NoTransaction):
        file_ticket(source_kind="saga", source_id="s", subject="a", body="b", actor="x")
    with pytest.raises(ZeroDivisionError):
        file_and_fail()
    assert not Ticket.objects.exists()
    assert not AuditRow.objects.filter(action="ticket.filed").exists()


def test_the_body_of_one_ticket_is_not_taken_for_that_of_another(file: Filing) -> None:
    one, other = file(), file(body="other")
    Ticket.objects.filter(id=one.id).update(sealed=other.sealed, key_id=other.key_id)
    with pytest.raises(SealBroken, match="T-000001 does not verify"):
        body_of(Ticket.objects.get(id=one.id))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"priority": "P5"}, "P1, P2, P3, P4"),
        ({"queue": " "}, "1 to 80"),
        ({"queue": "a\nb"}, "cannot be seen"),
        ({"subject": " "}, "subject is empty"),
        ({"source_kind": "Saga"}, "a word such as saga"),
        ({"source_id": ""}, "wants an id"),
    ],
)
def test_what_cannot_be_filed_is_refused_and_says_what_is_wanted(
    file: Filing, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadTicket, match=told):
        file(**wrong)
    assert not Ticket.objects.exists()


def test_a_subject_is_one_line_and_cut_where_it_is_too_long(file: Filing) -> None:
    ticket = file(subject="one\ntwo\u202e " + "x" * 500)
    assert ticket.subject.startswith("one two\\u202e xxx")
    assert (len(ticket.subject), ticket.subject[-1]) == (200, "…")


def test_a_ticket_of_no_mission_is_of_its_run(file: Filing) -> None:
    ticket = file(mission="")
    assert ticket.mission == str(ticket.correlation_id)


def test_a_body_is_read_by_section() -> None:
    body = {**BODY, "Steps": [{"id": "a", "fate": ["done", [1]]}, "two\nlines"], "None": []}
    told = {it.name: it.text for it in sections_of(body)}
    assert told["Steps"] == "- id: a\n  fate:\n    - done\n    - - 1\n- two\n  lines"
    assert (told["Undone"], told["Input"], told["None"]) == ("- pager/open", "n: 1", "[]")
    assert body_text({"A": "x", "B": 1}) == "A\nx\n\nB\n1"
    assert body_text("plain") == "plain"


@pytest.mark.parametrize(
    "body",
    [
        "\x01" * 3_000_000,
        {"Input": {"blob": "é" * 2_000_000}, "What failed": "the pager", "Odd": ["\x02"] * 900_000},
        {f"s{i}": "y" * 20_000 for i in range(2_000)},
    ],
)
def test_what_is_too_large_is_cut_and_says_so_and_the_ticket_is_filed(
    file: Filing, body: Any
) -> None:
    kept = fitted(body)
    assert len(repr(kept).encode()) < LARGEST_BODY_BYTES
    assert "more characters were left out" in body_text(kept)
    if "What failed" in body:
        assert kept["What failed"] == "the pager"  # type: ignore[index]
    assert body_of(file(body=body)) == kept


def test_what_a_run_left_at_its_deepest_is_filed(file: Filing) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert body_of(file(body={"Input": deep})) == {"Input": deep}
