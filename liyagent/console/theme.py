"""How the console looks. Read by the settings, before any table is known."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static


def stylesheet(request: HttpRequest) -> str:
    """Return where our own styles are."""
    return static("console/console.css")


def icon(request: HttpRequest) -> str:
    """Return where the icon of the page's tab is."""
    return static("console/icon.svg")


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Liyagent",
    "SITE_HEADER": "Liyagent",
    "SITE_SUBHEADER": "Console",
    "SITE_SYMBOL": "hub",
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": icon}],
    "STYLES": [stylesheet],
    "DASHBOARD_CALLBACK": "liyagent.console.dashboard.add_dashboard",
    "SIDEBAR": {
        "show_search": False,
        "command_search": False,
        "show_all_applications": False,
        "navigation": "liyagent.console.sidebar.sidebar",
    },
    "COLORS": {
        "primary": {
            "50": "239 246 255",
            "100": "219 234 254",
            "200": "191 219 254",
            "300": "147 197 253",
            "400": "96 165 250",
            "500": "59 130 246",
            "600": "37 99 235",
            "700": "29 78 216",
            "800": "30 64 175",
            "900": "30 58 138",
            "950": "23 37 84",
        },
    },
}
