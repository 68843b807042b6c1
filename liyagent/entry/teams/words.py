"""What a bot says in words of our own."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.urls import reverse

from liyagent.entry.models import Arrival, ArrivalState
from runs.models import Run, RunStatus

PLACEHOLDER = "I am on it. The answer will appear here."
NOT_TAKEN = "I cannot take this on now. Please try again later, or ask whoever runs this bot."
NO_LONGER_KEPT = "I had answered this, but the answer is no longer kept."
ENDED = {
    RunStatus.DECLINED: "I was not allowed to answer this.",
    RunStatus.STOPPED: "This was stopped before I could answer.",
    RunStatus.INTERRUPTED: "This was interrupted, and it will not go on. Please ask again.",
    RunStatus.FAILED: "I could not finish this.",
}
NOT_RECORDED = "(what was said here is not recorded)"
# The service takes some 28 kB for a message with all that is around its text.
MOST_BYTES = 20_000
CUT = "\n\n(This is the beginning: the answer is too long for Teams. The whole of it is kept as run {run}.)"


def reply_of(arrival: Arrival | None, run: Run | None, answer: str | None) -> str:
    """Return the words of a reply: the answer, or why there is none."""
    if run is None:
        is_refused = arrival is not None and arrival.state == ArrivalState.REFUSED
        return NOT_TAKEN if is_refused else NO_LONGER_KEPT
    if answer:
        return fitted(answer, run.id)
    if run.status == RunStatus.ANSWERED:
        return NO_LONGER_KEPT
    return f"{ENDED[RunStatus(run.status)]} (run {run.id})"


def fitted(answer: str, run_id: UUID) -> str:
    """Return an answer as one message takes it; of a longer one the beginning, and that it is cut."""
    raw = answer.encode()
    if len(raw) <= MOST_BYTES:
        return answer
    return raw[:MOST_BYTES].decode(errors="ignore") + CUT.format(run=run_id)


def page_of_run(run_id: UUID) -> str:
    """Return where people see a run in the console, empty where it is not said how they reach that."""
    origin = settings.LIYAGENT.public_url
    return f"{origin}{reverse('admin:runs_run_change', args=[run_id])}" if origin else ""


def page_of_request(approval_id: UUID) -> str:
    """Return where people see a request in the console, empty where it is not said how they reach that."""
    origin = settings.LIYAGENT.public_url
    return (
        f"{origin}{reverse('admin:approvals_approval_change', args=[approval_id])}"
        if origin
        else ""
    )
