"""The room as Django knows it: for its command alone."""

from __future__ import annotations

from django.apps import AppConfig


class OperationConfig(AppConfig):
    """Metrics and migrations."""

    name = "liyagent.operation"
    label = "operation"
