"""Why a workflow, or a run of one, was refused, each with its code."""

from __future__ import annotations

from collections.abc import Sequence

from liyagent.core.errors import BadInput, Conflict, NotFound

MOST_TOLD = 20


class DefinitionWrong(BadInput):
    """The definition is wrong."""

    code = "workflows.definition_wrong"

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        """`problems`: the JSON path of each, and what was found there and what was meant; the first 20 are told."""
        self.errors = [{"field": path, "detail": said} for path, said in problems[:MOST_TOLD]]
        more = len(problems) - MOST_TOLD
        told = "; ".join(f"{path}: {said}" for path, said in problems[:3])
        super().__init__(told if more <= 0 else f"{told}; and more, {len(problems)} in all")


class InputMisfit(BadInput):
    """The input is not what the workflow takes."""

    code = "workflows.input_misfit"


class WaitInvalid(BadInput):
    """This cannot be waited for."""

    code = "workflows.wait_invalid"


class WorkflowUnknown(NotFound):
    """There is no such workflow."""

    code = "workflows.not_found"


class WorkflowTaken(Conflict):
    """There is a workflow of this key already."""

    code = "workflows.taken"


class VersionMoved(Conflict):
    """The workflow is no longer at the version that was expected."""

    code = "workflows.version_moved"


class VersionUnknown(NotFound):
    """This workflow has no version of this number."""

    code = "workflows.version_unknown"


class RunsGoOn(Conflict):
    """Runs of this workflow have not ended."""

    code = "workflows.runs_go_on"


class WorkflowOff(Conflict):
    """This workflow is switched off."""

    code = "workflows.off"


class NoSignals(Conflict):
    """This run is no workflow's: no step of it waits for a signal."""

    code = "workflows.no_signals"


class TooManySignals(Conflict):
    """As many signals as a run may have wait to be taken: 100."""

    code = "workflows.too_many_signals"
