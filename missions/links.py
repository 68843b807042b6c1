"""How pages of rooms above lead to a mission's page."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.tables import cell
from missions.names import clean_mission


def named_mission_link(mission: str, *, stands_in: object) -> SafeString:
    """Return a mission as the way to its page, `-` where nobody named it: then it is the id that stands in for one.

    What a row holds that is no mission, as somebody wrote by hand, leads nowhere.
    """
    if mission in {"", str(stands_in)}:
        return format_html("{}", "-")
    if clean_mission(mission) is None:
        return format_html("{}", cell(mission))
    address = reverse("console-mission", args=[mission])
    return format_html('<a class="liy-link" href="{}">{}</a>', address, cell(mission))
