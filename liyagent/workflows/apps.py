"""The workflows room."""

from importlib import import_module

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.workflows"
    label = "workflows"

    def ready(self) -> None:
        """Have runs carried by their definitions, begun again from the start, and their signals sealed anew."""
        mind = import_module("liyagent.workflows.mind")
        import_module("runs.minds").MINDS[import_module("liyagent.workflows.branches").NAME] = (
            mind.WorkflowMind
        )
        again = import_module("runs.again")
        again.AGAIN[again.WORKFLOW] = import_module("liyagent.workflows.start").start_workflow
        signal, rows = import_module("liyagent.workflows.signal"), import_module("runs.sealed_rows")
        words = {"kind": signal.WORDS, "format_number": signal.FORMAT, "number": "id"}
        rows.SEALED_ROWS.append(rows.SealedRows(model=signal.Signal, **words))
