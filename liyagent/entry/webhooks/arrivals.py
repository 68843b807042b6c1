"""Pages of what a trigger let in."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.paging import PAGING, Page, check_names
from liyagent.entry import listing
from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger


def page_of_arrivals(trigger: Trigger, asked: Mapping[str, str]) -> Page[Arrival]:
    """Return the page that `limit` and `cursor` name, newest first. Raises `BadInput`."""
    check_names(asked, PAGING)
    return listing.page_of_arrivals({**asked, "way": trigger.kind, "source": trigger.key})
