"""The events room."""

from importlib import import_module

from django.apps import AppConfig

from events.checking import CHECKS
from events.sealing import SEAL_CHECK


class EventsConfig(AppConfig):
    """Registers the room's tables, and the chains among what a verification looks at."""

    name = "events"
    label = "events"

    def ready(self) -> None:
        """Fill the table of checks, the chains first; have missions tell of events."""
        import_module("events.timeline")
        CHECKS.insert(0, import_module("events.verify_chains").check_chains)
        CHECKS.append(import_module("events.check_heads").check_heads)
        CHECKS.append(import_module("events.check_purges").check_purges)
        CHECKS.append(import_module("events.check_roots").check_roots)
        CHECKS.append(import_module("events.check_export").check_export)
        SEAL_CHECK.check = import_module("events.head_seals").check_seal
        rollback = import_module("events.rollback")
        import_module("liyagent.agents.containment").AGAINST_RELEASE.append(
            rollback.why_not_to_release
        )
