"""Switch an adopted routine off whose runs go to the agent too often: it is offered again, and its pattern stays."""

from __future__ import annotations

import logging
from uuid import UUID

from django.conf import settings
from django.db import Error, InterfaceError, transaction

from liyagent.audit.record import record
from liyagent.core.errors import LiyagentError
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import save_workflow
from routines.adopt import ACTOR, change_state, told_of
from routines.lock import lock_routine
from routines.models import Routine, RoutineState
from routines.standing import Standing, standing_of
from runs.models import ROOT_LOOP, Run, RunStatus

logger = logging.getLogger(__name__)

# Fewer than these tell nothing of a rate.
LEAST_RUNS = 10


def judge_behind(run: Run, status: RunStatus) -> None:
    """Look at a routine as a run of it ends. Never raises: the next run that ends looks again."""
    if not run.workflow or run.loop != ROOT_LOOP:
        return
    try:
        rows = Routine.objects.filter(workflow_key=run.workflow, state=RoutineState.ADOPTED)
        for routine_id in rows.values_list("id", flat=True)[:1]:
            suspend_if_it_falls_back(routine_id)
    except (LiyagentError, Error, InterfaceError):
        logger.warning(
            "routine of workflow %s was not looked at behind run %s", run.workflow, run.id, exc_info=True
        )  # fmt: skip


def suspend_if_it_falls_back(routine_id: UUID) -> bool:
    """Suspend a routine where too many of its runs asked the agent, in one commit with its workflow; whether it was.

    At least ten runs since it was adopted have ended, and the share is above `LIYAGENT_ROUTINE_FALLBACK_RATE`.
    """
    routine = Routine.objects.filter(id=routine_id).first()
    if routine is None or not _is_too_often(standing_of(routine)):
        return False
    with transaction.atomic(durable=True):
        routine = lock_routine(routine_id)
        standing = standing_of(routine)
        if routine.state != RoutineState.ADOPTED or standing is None or not _is_too_often(standing):
            return False
        why = f"the agent was asked in {standing.fell_back} of {standing.ended} runs since it was adopted"
        _switch_off(routine)
        change_state(routine, RoutineState.SUSPENDED, approval_id=None, reason=why)
        detail = {**told_of(routine), "workflow": routine.workflow_key, "reason": why, "fallback_rate": standing.plain()["fallback_rate"]}  # fmt: skip
        record("agent.routine.suspended", actor=ACTOR, agent=routine.agent_key, detail=detail)
    return True


def _is_too_often(standing: Standing | None) -> bool:
    if standing is None or standing.rate is None or standing.ended < LEAST_RUNS:
        return False
    return standing.rate > settings.LIYAGENT.routine_fallback_rate


def _switch_off(routine: Routine) -> None:
    """Its workflow, unless it is off or was removed; what it holds stays as it is."""
    row = Workflow.objects.select_related("agent").filter(key=routine.workflow_key).first()
    if row is None or not row.is_enabled:
        return
    save_workflow(
        key=row.key,
        name=row.name,
        agent_key=row.agent.key,
        definition=row.definition,
        is_enabled=False,
        actor=ACTOR,
        expected_version=row.version,
    )
