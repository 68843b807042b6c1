"""The room as Django knows it: for its command, and for the end of each start."""

from __future__ import annotations

import gc

from django.apps import AppConfig


class OperationConfig(AppConfig):
    """Metrics and migrations. Its app is installed last: when it is ready, all are."""

    name = "liyagent.operation"
    label = "operation"

    def ready(self) -> None:
        """Let garbage be looked for from here on, and never among what was imported: that stays."""
        gc.freeze()
        gc.enable()
