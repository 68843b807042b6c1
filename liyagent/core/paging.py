"""Pages of a list that may be very long."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property

from liyagent.core.errors import BadInput

MOST_COUNTED = 5000
PAGE = 50
MOST_PAGE = 200
LONGEST_CURSOR = 1000
PAGING = ("limit", "cursor")

T = TypeVar("T", bound=Model)


class BoundedPaginator(Paginator[Any]):
    """Counts no further than 5000 rows: what lies behind is reached by filter and search, not by paging."""

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, at most 5000."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by().values("pk")[:MOST_COUNTED].count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some rows of a list. `next_cursor` is empty where nothing follows."""

    rows: list[T]
    next_cursor: str


def page_by(rows: QuerySet[T], asked: Mapping[str, str], *, field: str) -> Page[T]:
    """Return the page of `rows` that `limit` and `cursor` of `asked` name, by a unique text column.

    Raises `BadInput` where either cannot be used.
    """
    limit = limit_of(asked)
    rows = rows.order_by(field)
    if "cursor" in asked:
        (last,) = read_cursor(asked["cursor"], parts=1)
        rows = rows.filter(**{f"{field}__gt": last})
    found = list(rows[: limit + 1])
    has_more = len(found) > limit
    last_value = str(getattr(found[limit - 1], field)) if has_more else ""
    return Page(rows=found[:limit], next_cursor=write_cursor([last_value]) if has_more else "")


def check_names(asked: Mapping[str, str], known: Sequence[str]) -> None:
    """Raise `BadInput` where a query names a parameter that is not known here."""
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise BadInput(
            f"{unknown[0][:80]!r} is not known here; the known ones are {', '.join(known)}"
        )


def limit_of(asked: Mapping[str, str]) -> int:
    """Return how many rows a page has at most, 50 where nothing is said. Raises `BadInput`."""
    text = asked.get("limit")
    if text is None:
        return PAGE
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST_PAGE):
        raise BadInput(f"limit is {text[:80]!r}; it wants a whole number from 1 to {MOST_PAGE}")
    return int(text)


def write_cursor(parts: Sequence[str]) -> str:
    """Return where a page ended, opaque."""
    return base64.urlsafe_b64encode(json.dumps(list(parts)).encode()).decode().rstrip("=")


def read_cursor(text: str, *, parts: int) -> list[str]:
    """Return what `write_cursor` was given. Raises `BadInput` for anything else."""
    try:
        if len(text) > LONGEST_CURSOR:
            raise ValueError("too long")
        padded = text + "=" * (-len(text) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        is_ours = isinstance(found, list) and len(found) == parts
        if not is_ours or not all(isinstance(it, str) and "\x00" not in it for it in found):
            raise ValueError("not ours")
        "".join(found).encode()
    except (ValueError, RecursionError, binascii.Error):
        raise bad_cursor() from None
    return [str(it) for it in found]


def bad_cursor() -> BadInput:
    """Return what is raised for a cursor that no page named."""
    return BadInput("cursor wants what a page's `next` named, unchanged")


def next_link(path: str, asked: Mapping[str, str], cursor: str) -> str | None:
    """Return the address of the next page with all that was asked, None where there is none."""
    return f"{path}?{urlencode({**asked, 'cursor': cursor})}" if cursor else None
