"""The room as Django knows it: for its command, and for the end of each start."""

from __future__ import annotations

import gc
from importlib import import_module

from django.apps import AppConfig


class OperationConfig(AppConfig):
    """Metrics and migrations. Its app is installed last: when it is ready, all are."""

    name = "liyagent.operation"
    label = "operation"

    def ready(self) -> None:
        """Have the deploy check look at roles. Let garbage be looked for from here on, and never among what was imported."""
        import_module("liyagent.operation.checks")
        gc.freeze()
        gc.enable()
