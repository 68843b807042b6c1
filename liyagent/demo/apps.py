"""The demo room as a Django app, for its `seed` command."""

from __future__ import annotations

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """Vendor servers, the seed and the demo."""

    name = "liyagent.demo"
    label = "demo"
    verbose_name = "Demo"
