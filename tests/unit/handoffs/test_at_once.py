"""Two who write one version of a thread at the same time, on two connections: one is made to wait for the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections, transaction

from handoffs.content import Content
from handoffs.errors import StaleVersion, StillWritten
from handoffs.models import Snapshot, Version
from handoffs.open_thread import Written, open_thread
from handoffs.read_thread import read_thread
from handoffs.revise import revise
from handoffs.write_version import write_version
from liyagent.audit.models import AuditRow
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from tests.databases import FreshDatabase
from tests.unit.handoffs.conftest import delegated, handed
from tests.unit.tickets.test_file_ticket import wait_until_blocked


def content(body: str) -> Content:
    return Content(sender="agent:triage", recipient="ann", kind="note", body=f'"{body}"')


@contextmanager
def while_another_writes(
    head: Version, body: str, *, author: str, then_fails: bool = False
) -> Iterator[list[Any]]:
    """Have olga revise the head with "mine" while somebody has written, and not yet committed, the very next version."""
    came: list[Any] = []

    def second() -> None:
        try:
            came.append(revise(thread=head.thread, expected_version=head.number, body="mine", actor="olga"))  # fmt: skip
        except LiyagentError as error:
            came.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=second)
    with transaction.atomic(durable=True):
        write_version(
            thread=head.thread, number=head.number + 1, parent=head.snapshot_id, content=content(body), author=author,
            mission=head.mission,
        )  # fmt: skip
        thread.start()
        wait_until_blocked()
        transaction.set_rollback(then_fails)
    thread.join(10)
    yield came


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_who_comes_second_is_told_the_head_and_leaves_nothing(fresh_db: FreshDatabase) -> None:
    head = handed("one")
    with while_another_writes(head, "theirs", author="ben") as came:
        (refused,) = came
    assert isinstance(refused, StaleVersion)
    assert (refused.facts["head"], refused.facts["head_digest"]) == (2, content("theirs").digest())
    assert not Snapshot.objects.filter(body='"mine"').exists()
    assert AuditRow.objects.filter(action="agent.handoff").count() == 2
    assert read_thread(head.thread).chain_holds


@pytest.mark.promise("HO-02")
@pytest.mark.field("FL-96")
def test_the_same_revise_sent_twice_at_once_is_one_version(fresh_db: FreshDatabase) -> None:
    head = handed("one")
    with while_another_writes(head, "mine", author="olga") as came:
        (written,) = came
    assert isinstance(written, Written)
    assert (written.is_new, written.version.number) == (False, 2)
    assert AuditRow.objects.filter(action="agent.handoff").count() == 2


@pytest.mark.promise("HO-02")
def test_who_waits_for_one_that_fails_writes_the_version(fresh_db: FreshDatabase) -> None:
    head = handed("one")
    with while_another_writes(head, "theirs", author="ben", then_fails=True) as came:
        (written,) = came
    assert (written.is_new, written.version.number, written.version.author) == (True, 2, "olga")
    assert not Snapshot.objects.filter(body='"theirs"').exists()
    assert read_thread(head.thread).chain_holds


def test_no_key_of_a_person_names_a_thread_of_a_run(fresh_db: FreshDatabase) -> None:
    """Somebody called saga, or as a run's id is, would else write the first version of what that run hands over."""
    run, key = str(uuid4()), "k" * 64
    for parts in (["handoff", "saga", run], ["handoff", run, key]):
        opened = open_thread(
            sender="a", recipient="b", kind="note", body=1, actor=parts[1], idempotency_key=parts[2]
        )
        assert opened.version.thread.hex != digest(parts)[:32]


def test_a_delegation_is_not_revised_before_its_answer_came_back(fresh_db: FreshDatabase) -> None:
    thread = uuid4()
    delegated(thread, uuid4(), {"task": "look"})
    with pytest.raises(StillWritten):
        revise(thread=thread, expected_version=1, body="mine", actor="olga")
    delegated(thread, uuid4(), {"task": "look"}, {"status": "answered"})
    written = revise(thread=thread, expected_version=2, body={"status": "seen"}, actor="olga")
    assert (written.version.number, written.version.author) == (3, "olga")
    assert read_thread(thread).chain_holds
