"""Pages of a list that may be very long."""

from __future__ import annotations

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

MOST_COUNTED = 5000


class BoundedPaginator(Paginator[Any]):
    """Counts no further than 5000 rows: what lies behind is reached by filter and search, not by paging."""

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, at most 5000."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by().values("pk")[:MOST_COUNTED].count()
