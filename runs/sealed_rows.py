"""Rows of higher rooms that are sealed under a run's key, so that a new key reaches them: a table that those rooms fill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model

from liyagent.core.seal import KeyMissing, Keyring, SealBroken
from liyagent.tickets.models import Comment, Ticket
from liyagent.tickets.words import BODY, COMMENT, FORMAT
from runs.checkpoint import keyring
from runs.models import CHECKPOINT_FORMAT

BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRows:
    """A model with `sealed`, null where there is none any more, and `key_id`; the rest is how its room seals.

    `of` is the column with the id that the data key is made for, `number` the one with the number of a row among its kind.
    """

    model: type[Model]
    kind: str
    of: str = "run_id"
    number: str = ""
    format_number: int = CHECKPOINT_FORMAT

    @property
    def columns(self) -> list[str]:
        """What is read of a row."""
        return ["pk", "key_id", "sealed", self.of, *([self.number] if self.number else [])]


# Tickets stand below runs, and cannot put their own in.
SEALED_ROWS: list[SealedRows] = [
    SealedRows(model=Ticket, kind=BODY, of="id", format_number=FORMAT),
    SealedRows(model=Comment, kind=COMMENT, of="id", format_number=FORMAT),
]


@dataclass(slots=True, kw_only=True)
class RowsResealed:
    """What came of them. `left`: changed meanwhile; `broken`: no key or seal fits."""

    done: int = 0
    left: int = 0
    broken: int = 0


def reseal_rows(told: RowsResealed, *, on_progress: Callable[[], None]) -> None:
    """Seal every such row with the newest key, each in a commit of its own."""
    ring = keyring()
    for kept in SEALED_ROWS:
        rows = kept.model._default_manager.exclude(key_id=ring.newest).exclude(sealed=None)
        last: Any = None
        while found := list(
            (rows if last is None else rows.filter(pk__gt=last))
            .order_by("pk").values(*kept.columns)[:BATCH]
        ):  # fmt: skip
            for row in found:
                _reseal_row(kept, row, ring, told)
            last = found[-1]["pk"]
            on_progress()


def rows_by_key() -> dict[str, int]:
    """Return how many such rows each key is needed for. Reads all of them once."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        for kept in SEALED_ROWS:
            table = connection.ops.quote_name(kept.model._meta.db_table)
            cursor.execute(
                f"SELECT key_id, count(*) FROM {table} WHERE sealed IS NOT NULL GROUP BY key_id"  # noqa: S608 - a table of ours
            )
            for key_id, number in cursor.fetchall():
                found[key_id] = found.get(key_id, 0) + number
    return found


def _reseal_row(kept: SealedRows, row: dict[str, Any], ring: Keyring, told: RowsResealed) -> None:
    named = {"run_id": row[kept.of], "format_number": kept.format_number}
    number = row[kept.number] if kept.number else 0
    try:
        words = ring.sealer(key_id=row["key_id"], **named).open(
            bytes(row["sealed"]), kind=kept.kind, number=number
        )
    except (KeyMissing, SealBroken):
        told.broken += 1
        return
    sealed = ring.sealer(key_id=ring.newest, **named).seal(words, kind=kept.kind, number=number)
    # Words that went meanwhile stay gone, and what was set anew is sealed with what it was set with.
    same = kept.model._default_manager.filter(
        pk=row["pk"], key_id=row["key_id"], sealed=row["sealed"]
    )
    is_done = same.update(sealed=sealed, key_id=ring.newest)
    told.done += is_done
    told.left += not is_done and _is_older(kept, row["pk"], ring)


def _is_older(kept: SealedRows, pk: Any, ring: Keyring) -> bool:
    rows = kept.model._default_manager.filter(pk=pk).exclude(sealed=None)
    return rows.exclude(key_id=ring.newest).exists()
