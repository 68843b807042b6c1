"""What must be inside a transaction, and what must never be (house rule: nothing leaves inside one)."""

from __future__ import annotations

from http import HTTPStatus

from django.db import connection

from liyagent.core.errors import LiyagentError


class InTransaction(LiyagentError):
    """This must not happen inside a transaction: a rollback could not take it back."""

    code = "transaction.forbidden"
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR


class NoTransaction(LiyagentError):
    """This must happen inside the transaction of its caller."""

    code = "transaction.required"
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR


def forbid_transaction(doing: str) -> None:
    """Raise `InTransaction` where a transaction is open; `doing` reads on: "calling jira/get_issue"."""
    if connection.in_atomic_block:
        raise InTransaction(f"{doing} inside a transaction: a rollback could not take it back")


def require_transaction(doing: str) -> None:
    """Raise `NoTransaction` where none is open; `doing` reads on: "registering an undo"."""
    if not connection.in_atomic_block:
        raise NoTransaction(
            f"{doing} outside a transaction: it must be kept or lost with its caller's change"
        )
