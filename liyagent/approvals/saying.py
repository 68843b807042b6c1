"""What is said of a request by what it asks: a call to be let out, the question of a workflow's step, whether a failed run
begins again, or whether a routine is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from liyagent.approvals.handlers import NO_CALLS, ROUTINE, SAGA
from liyagent.approvals.models import Approval, ApprovalStatus

# What a workflow's step asks a person is filed as a call of our own, which leaves nowhere.
QUESTION = ("workflow", "approve")
ASKED = "The workflow asks: "
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """The words of one kind of request. `page` is the template of its page; `states` and `now` stand over those of a call.

    `reject` and `approve` are heading and button of a decision, `reject_help` what is said below the field of a rejection;
    `sent` what its history says of an approval that was acted on.
    """

    page: str = "page.html"
    reject: tuple[str, str] = ("✗ Reject: the call is not made", "✗ Reject: do not make this call")
    approve: tuple[str, str] = ("✓ Approve: exactly what is shown is sent, once", "✓ Approve: make this call")  # fmt: skip
    withdraw: str = (
        "The call is not made, and the agent is told that the request was withdrawn, and why; it can ask again. Meant for what is "
        "not wrong but not needed any more, and for what cannot be decided. Whoever asked for it may do so, and whoever may decide."
    )
    reject_help: str = ""
    sent: tuple[str, str] = ("Sent", "the call left, once")
    is_call: bool = True
    states: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, str] = field(default_factory=dict)


OF_CALL = Saying()
OF_QUESTION = Saying(
    page="question.html",
    reject=("✗ No: the step fails", "✗ No"),
    approve=("✓ Yes: the workflow goes on", "✓ Yes, go on"),
    withdraw=(
        "Nobody answers: the step fails as if somebody had said no, and the workflow goes on as its definition says. Whoever asked "
        "for it may do so, and whoever may decide."
    ),
    reject_help="It is kept with your name, and told to the workflow as why the step failed.",
    sent=("Taken up", "the workflow went on with it"),
    is_call=False,
    states={
        ApprovalStatus.APPROVED: "yes, the workflow has not gone on yet",
        ApprovalStatus.CONSUMED: "yes, and the workflow went on",
        ApprovalStatus.REJECTED: "no",
        ApprovalStatus.EXPIRED: "expired: nobody answered in time",
        ApprovalStatus.STALE: "stale: yes, but it was asked anew",
    },
    now={
        ApprovalStatus.APPROVED: "the workflow goes on within seconds.",
        ApprovalStatus.REJECTED: "the step fails, and the workflow goes on as its definition says, or ends.",
        ApprovalStatus.WITHDRAWN: "the step fails, and the workflow goes on as its definition says, or ends.",
        ApprovalStatus.CONSUMED: "you had said yes before, and the workflow went on. Nothing was changed now.",
        ApprovalStatus.STALE: "you had said yes before, and since then it was asked anew. Nothing was changed now.",
    },
)
OF_SAGA = Saying(
    page="saga.html",
    reject=("✗ Close it: the run does not begin again", "✗ Close it"),
    approve=("✓ Begin it again from the start, with the same input", "✓ Begin it again"),
    withdraw=(
        "Nobody decides: the run does not begin again, and what is left of it stays as it is, to be undone or closed on its own page."
    ),
    reject_help="It is kept with your name, as why it was closed.",
    sent=("Begun again", "a run with the same input was started"),
    is_call=False,
    states={
        ApprovalStatus.CONSUMED: "approved, and it began again",
        ApprovalStatus.REJECTED: "closed: it does not begin again",
    },
    now={
        ApprovalStatus.CONSUMED: "it begins again from the start, with the same input, by a run of its own.",
        ApprovalStatus.REJECTED: "it is closed: nothing more of it is undone, and it does not begin again.",
        ApprovalStatus.WITHDRAWN: "it does not begin again; what is left of it stays as it is.",
    },
)
OF_ROUTINE = Saying(
    page="routine.html",
    reject=("✗ No: it goes back to the suggestions", "✗ No, not now"),
    approve=("✓ Adopt: exactly what is shown is saved as a workflow", "✓ Adopt it"),
    withdraw="Nobody decides: nothing is saved, and the routine goes back to the suggestions.",
    reject_help="It is kept with your name. To never be offered the pattern again, dismiss the routine on its own page instead.",
    sent=("Saved", "it is a workflow of the agent"),
    is_call=False,
    states={
        ApprovalStatus.CONSUMED: "adopted: the workflow was saved",
        ApprovalStatus.REJECTED: "not adopted: back among the suggestions",
        ApprovalStatus.EXPIRED: "expired: nobody decided, back among the suggestions",
        ApprovalStatus.WITHDRAWN: "withdrawn: nothing was saved",
    },
    now={
        ApprovalStatus.CONSUMED: "it is saved as a workflow. Nothing runs by itself: start a run of it, and its writes wait as the agent's own do.",
        ApprovalStatus.REJECTED: "nothing is saved; the routine is among the suggestions again.",
        ApprovalStatus.WITHDRAWN: "nothing is saved; the routine is among the suggestions again.",
    },
)
OF_KINDS: Mapping[str, Saying] = {SAGA: OF_SAGA, ROUTINE: OF_ROUTINE}


def saying_of(approval: Approval) -> Saying:
    """Return the words for a request."""
    if approval.kind in OF_KINDS:
        return OF_KINDS[approval.kind]
    return OF_QUESTION if is_question(approval) else OF_CALL


def is_question(approval: Approval) -> bool:
    """Whether it is what a step of a workflow asks."""
    return approval.kind not in NO_CALLS and (approval.server, approval.tool) == QUESTION


def asks(approval: Approval) -> str:
    """Return what it asks for, as lists name it: `server/tool`, the beginning of a question, what would begin again or be saved."""
    if approval.kind == SAGA:
        return "begin a failed run again" if approval.tool == "begin_again" else f"begin workflow {approval.tool} again"  # fmt: skip
    if approval.kind == ROUTINE:
        return f"adopt {approval.tool}"
    if is_question(approval):
        told = approval.held_reason.removeprefix(ASKED)
        return f"“{told[:LONGEST_NAME]}{'…' if len(told) > LONGEST_NAME else ''}”"
    return approval.name
