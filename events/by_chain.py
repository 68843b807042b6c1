"""Rows by the chain that they are of, some at a time: for checks over as many chains as there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import connection

from events.checking import Asked

Rows = list[tuple[Any, ...]]


def by_chain(statement: str, asked: Asked, *, at_once: int) -> Iterator[Rows]:
    """Yield the rows of the chains that are asked for, never none.

    `statement` takes the first chain, the last, and how many rows at most; it returns one row a chain, which its first
    column names, in the order of chains.
    """
    first = asked.first
    while rows := _read(statement, first, asked.last, at_once):
        yield rows
        last = rows[-1][0]
        if last >= asked.last:
            return
        first = UUID(int=last.int + 1)


def _read(statement: str, first: UUID, last: UUID, at_once: int) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(statement, [first, last, at_once])
        rows: Rows = cursor.fetchall()
    return rows
