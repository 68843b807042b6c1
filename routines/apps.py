"""The routines room."""

from importlib import import_module

from django.apps import AppConfig

from liyagent.approvals.handlers import BESIDE, HANDLERS, ROUTINE


class RoutinesConfig(AppConfig):
    """Registers the room's tables."""

    name = "routines"
    label = "routines"
    verbose_name = "Routines"

    def ready(self) -> None:
        """Mine, once a day too; take decisions about adoptions, and look at the runs of what was adopted as they end."""
        import_module("routines.jobs")
        import_module("routines.rounds")
        decide = import_module("routines.decide")
        HANDLERS[ROUTINE], BESIDE[ROUTINE] = decide.decided_about_routine, decide.beside_routine
        import_module("runs.behind_end").BEHIND_END.append(
            import_module("routines.suspend").judge_behind
        )
