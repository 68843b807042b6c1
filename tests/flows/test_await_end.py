"""Waiting for a run to end."""

from __future__ import annotations

import dataclasses
import time
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection, transaction

from liyagent.core.readiness import STATE
from liyagent.core.transactions import InTransaction
from runs.await_end import wait_for_end
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase


def test_waiting_holds_no_connection_and_no_transaction(fresh_db: FreshDatabase) -> None:
    connection.ensure_connection()
    assert wait_for_end(uuid4(), seconds=0) is False
    assert connection.connection is None
    with transaction.atomic(), pytest.raises(InTransaction):
        wait_for_end(uuid4(), seconds=0)


@pytest.mark.usefixtures("agent")
def test_an_ended_run_is_seen_at_once() -> None:
    run_id = start_run(
        agent_key="triage", task="t", entry="api", started_by="", mission="", request_id=""
    ).run_id
    Run.objects.filter(id=run_id).update(status="stopped")
    assert wait_for_end(run_id, seconds=0) is True


def test_a_draining_process_lets_its_visitors_go(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE, "is_draining", True)
    began = time.monotonic()
    assert wait_for_end(uuid4(), seconds=30) is False
    assert time.monotonic() - began < 5


def test_a_database_that_is_away_is_no_error(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = dataclasses.replace(
        settings.LIYAGENT, database_url="postgresql://nobody@127.0.0.1:1/none"
    )
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    assert wait_for_end(uuid4(), seconds=0) is False
