"""Filters of the pages of runs. All they return is escaped where it is shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.utils.safestring import SafeString

from liyagent.core import moments
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from runs.run_page import place_of
from runs.wording import CAUSES, EVENTS, FINDINGS, SETTLEMENTS, in_words

register = template.Library()
FATES = {"done": GOOD, "failed": WARN, "refused": WARN, "held": WARN, "unknown": BAD}


@register.filter
def plainly(value: Any) -> str:
    """Return a value on one line, what is invisible in it written out."""
    return "" if value in (None, "") else cell(value)


@register.filter
def when(value: datetime | None) -> SafeString:
    """Return a time and its age."""
    return moments.when(value)


@register.filter
def fate(value: str) -> SafeString:
    """Return a fate in words; a call without one is not settled yet."""
    return pill(value, FATES.get(value, QUIET)) if value else pill("not settled yet", WARN)


@register.filter
def settled(value: str) -> str:
    """Say how a call came to its fate."""
    return cell(in_words(SETTLEMENTS, value or ""))


@register.filter
def finding(value: str) -> str:
    """Say what a late look found."""
    return cell(in_words(FINDINGS, value))


@register.filter
def cause(value: Any) -> str:
    """Say how a death was seen."""
    return cell(in_words(CAUSES, str(value or "")))


@register.filter
def event(kind: str) -> str:
    """Say what kind of event it is."""
    return cell(EVENTS.get(kind, kind))


@register.filter
def place(call: Any) -> str:
    """Return where on its run's page a call stands."""
    return place_of(call)
