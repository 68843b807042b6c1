"""The audit room."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.audit"
    label = "audit"
