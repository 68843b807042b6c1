"""What the page of a request tells of its run: the room of approvals does not know of runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from liyagent.approvals.admin import ApprovalAdmin
from liyagent.approvals.handlers import ROUTINE, SAGA
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.pages import text_page
from liyagent.approvals.saying import ASKED, is_question
from liyagent.approvals.shown import shortened
from liyagent.console.adoption import adoption
from liyagent.console.handed_over import handed_over
from liyagent.core.errors import LiyagentError
from liyagent.gateway.outcome import Fate
from runs.again import begun_again
from runs.approved_run import loop_of
from runs.checkpoint import START, sealer_of
from runs.head import BODIES
from runs.late_look import FOUND
from runs.models import Call, Part, Run, RunStatus
from runs.run_page import place_of
from runs.saga_handoff import flaw_of_handed
from runs.states import state_of
from runs.unknown import unknown_calls
from sagas.models import Saga

MOST_UNKNOWN = 20
TASK = "task"
ASLEEP = (
    "The run sleeps until this is decided, and holds no process meanwhile. Whatever is decided, it goes on then: "
    "approved, it makes the call; rejected, its model, or its workflow, is told why."
)
AWAKE = (
    "The run waits for this and is being looked after just now; it goes to sleep again, or goes on."
)
WENT_ON = (
    "The run did not wait: its model was told that the call is held, and went on without it. "
    "If you approve, the call is made by a run of its own."
)
TO_BE_MADE = (
    "The run waited for this, and makes the call once a process takes it up: within seconds, while processes run. "
    "To keep the call from being made, stop the run."
)
OVER = "The run that waited for this has ended."
SLEEPS = {
    ApprovalStatus.PENDING: "The workflow sleeps until somebody answers, and holds no process meanwhile.",
    ApprovalStatus.APPROVED: "The workflow goes on once a process takes it up: within seconds, while processes run.",
}


class RequestWithRunAdmin(ApprovalAdmin):
    """Requests, with the runs that asked for them."""

    def around(
        self, request: HttpRequest, approval: Approval, args: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the run and whether it sleeps, its task, what of it is in doubt, and what became of the call.

        Of what is no call: the question of a workflow's step, what a failed run left, or a routine that would be saved.
        """
        run = Run.objects.defer(*BODIES).filter(id=approval.run_id).first()
        made_in = Run.objects.defer(*BODIES).filter(correlation_id=approval.correlation_id, loop=loop_of(approval.id)).first()  # fmt: skip
        unknown = unknown_of(approval)
        task, why_none = task_of(run)
        shown, left_out = shortened(task)
        became = call_of(approval, made_in)
        return {
            "run": run,
            "run_state": state_of(run) if run else "",
            "made_in": made_in,
            "sleep": sleep_of(approval, run),
            "unknown": [(call, unknown_link(request, call)) for call in unknown[:MOST_UNKNOWN]],
            "is_more_unknown": len(unknown) > MOST_UNKNOWN,
            "task": shown,
            "task_left_out": left_out,
            "why_no_task": why_none,
            "became": became,
            "became_in_doubt": became is not None
            and became.fate == Fate.UNKNOWN.value
            and became.late_finding != FOUND,
            "became_link": doubt_link(request, became),
            **self.of_its_kind(request, approval, run, args),
        }

    def of_its_kind(
        self, request: HttpRequest, approval: Approval, run: Run | None, args: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return what stands on the page of a request that is no call; nothing for one that is."""
        if is_question(approval):
            told = SLEEPS.get(
                ApprovalStatus(approval.status), "The workflow went on with what was said."
            )
            ended = run is None or run.is_ended
            return {**question_of(args, approval), "sleep": OVER if ended else told, "became": None}
        if approval.kind == SAGA:
            handed = handed_over(request, approval, run, args)
            problem = flaw_of_handed(approval.run_id, approval.handoff_digest)
            return {
                "handed": handed,
                "handoff_problem": problem,
                "sleep": "",
                "began": begun_by(approval),
                "became": None,
            }
        if approval.kind == ROUTINE:
            return {"adoption": adoption(request, approval, args), "sleep": "", "became": None}
        return {}

    def text_around(self, approval: Approval, asked: str, number: int) -> dict[str, Any] | None:
        """Return a part of the run's task."""
        if asked != TASK:
            return None
        task, _ = task_of(Run.objects.filter(id=approval.run_id).first())
        return text_page("The task of the run", task, number)


def question_of(args: dict[str, Any] | None, approval: Approval) -> dict[str, Any]:
    """Return the question as it is shown, from what was sealed where that may be read, else as it was filed."""
    asked = args.get("question") if args is not None else approval.held_reason.removeprefix(ASKED)
    shown, left_out = shortened(asked if isinstance(asked, str) else "")
    # The question is the only argument of its call.
    return {"question": shown, "question_left_out": left_out if args is not None else 0, "question_line": 1}  # fmt: skip


def begun_by(approval: Approval) -> Run | None:
    """Return the run that began again on it."""
    saga = Saga.objects.defer("context").filter(id=approval.run_id).first()
    return begun_again(saga) if saga is not None and approval.consumed_at else None


def sleep_of(approval: Approval, run: Run | None) -> str:
    """Say whether the run waits for this, or went on."""
    if not approval.run_waits:
        return WENT_ON if approval.status == ApprovalStatus.PENDING else WENT_ON.partition(". If")[0] + "."  # fmt: skip
    if run is None or run.is_ended:
        return OVER
    if approval.status == ApprovalStatus.APPROVED:
        return TO_BE_MADE
    if approval.status != ApprovalStatus.PENDING:
        return "The run waited for this, and goes on with what was decided."
    return ASLEEP if run.status == RunStatus.WAITING else AWAKE


def unknown_of(approval: Approval) -> list[Call]:
    """Return the calls of unknown outcome of the run and of those of its root, newest first, at most 21; its own is none."""
    rows = unknown_calls().filter(correlation_id=approval.correlation_id)
    rows = rows.exclude(approval_id=approval.id)
    return list(rows.defer("sealed", "outcome").order_by("-id")[: MOST_UNKNOWN + 1])


def unknown_link(request: HttpRequest, call: Call) -> str:
    """Return where on its run's page a call stands, nothing for those who may not see runs."""
    if not request.user.has_perm("runs.view_run"):
        return ""
    return reverse("admin:runs_run_change", args=[call.run_id]) + place_of(call)


def doubt_link(request: HttpRequest, call: Call | None) -> str:
    """Return where a person says what happened to a call, nothing for those who may not see marked calls."""
    if call is None or not request.user.has_perm("runs.view_call"):
        return ""
    return reverse("admin:runs_call_change", args=[call.pk])


def task_of(run: Run | None) -> tuple[str, str]:
    """Return what the run was asked and, where that cannot be shown, why."""
    if run is None:
        return "", "The run is not stored any more."
    part = Part.objects.filter(run_id=run.id, number=0).first()
    if part is None:
        return "", "The run has ended, and its words were not kept."
    try:
        start = sealer_of(run).open(bytes(part.sealed), kind=START, number=0)
    except LiyagentError as error:
        return "", f"It cannot be opened here: {error.title}"
    return str(start["task"]), ""


def call_of(approval: Approval, made_in: Run | None) -> Call | None:
    """Return the mark of the call once it was sent: in the run that waited, else in the run of its own."""
    if approval.consumed_at is None:
        return None
    calls = Call.objects.defer("sealed", "outcome")
    if made_in is not None:
        return calls.filter(run_id=made_in.id, step=1, index=0).first()
    return calls.filter(run_id=approval.run_id, step=approval.step, index=approval.index).first()
