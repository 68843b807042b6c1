"""States in words, coloured beside, as pages show them."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.tables import cell

GOOD, BAD, WARN, QUIET = "good", "bad", "warn", "quiet"


def pill(text: object, kind: str = QUIET) -> SafeString:
    """Return a state in words, coloured beside."""
    return format_html('<span class="liy-pill liy-{}">{}</span>', kind, cell(text))
