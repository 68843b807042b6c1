"""Tickets as a failed run files them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from liyagent.core.ids import new_id
from liyagent.tickets.file_ticket import file_ticket
from liyagent.tickets.models import Ticket
from tests.databases import FreshDatabase

Filing = Callable[..., Ticket]
BODY = {
    "What failed": "step close: 502 from the pager",
    "Undone": ["pager/open"],
    "Input": {"n": 1},
}


def filed(**given: Any) -> Ticket:
    """File one in a commit of its own."""
    run_id: UUID = given.pop("run_id", None) or new_id()
    values = {
        "source_kind": "saga", "source_id": str(run_id), "subject": "Run of triage failed", "body": BODY, "actor": "system",
        "mission": "INC-1", "correlation_id": run_id, "run_id": run_id, "agent_key": "triage", **given,
    }  # fmt: skip
    with transaction.atomic(durable=True):
        return file_ticket(**values)


@pytest.fixture
def file(fresh_db: FreshDatabase) -> Filing:
    """File one, each for a source of its own where none is named."""
    return filed
