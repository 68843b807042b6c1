"""A user's keys, newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liyagent.access.models import ApiKey
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text

PAGE = 50
MOST_PAGE = 200
FILTERS = ("limit", "cursor")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPage:
    """`next_cursor`, the prefix of the last key, is empty on the last page."""

    keys: list[ApiKey]
    next_cursor: str


def list_keys(owner: str, asked: Mapping[str, str]) -> KeysPage:
    """Return the page of the keys of the user `owner` that `asked` (of `FILTERS`) names. Raises `BadInput`."""
    unknown = [name for name in asked if name not in FILTERS]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is not known here; the known ones are {', '.join(FILTERS)}")
    limit = _limit(asked.get("limit", str(PAGE)))
    rows = ApiKey.objects.filter(user__username=owner).order_by("-id")
    if "cursor" in asked:
        last = rows.filter(prefix=clean_text(asked["cursor"])).first()
        if last is None:
            raise BadInput("cursor wants what a page's `next` named, unchanged")
        rows = rows.filter(id__lt=last.pk)
    keys = list(rows[: limit + 1])
    has_more = len(keys) > limit
    return KeysPage(keys=keys[:limit], next_cursor=keys[limit - 1].prefix if has_more else "")


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST_PAGE):
        raise BadInput(f"limit is {text[:80]!r}; it wants a whole number from 1 to {MOST_PAGE}")
    return int(text)
