"""The page of one run, put together: what a person has to do first, then the record, then the run from top to bottom."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html

from liyagent.access.permissions import READ_WORDS
from liyagent.agents.channels import WITH_ARRIVALS
from liyagent.core.moments import shown_now, span_in_words, when
from liyagent.core.tables import visible
from runs.approved_run import is_approved_run
from runs.bare_writes import bare_of
from runs.doubts_admin import sees_requests
from runs.go_on import continuations_of
from runs.gone_wrong import gone_wrong
from runs.head import lease_of, takeovers_of
from runs.models import ROOT_LOOP, Run
from runs.record_told import record_of
from runs.relatives import relatives_of
from runs.rests import rests_of
from runs.run_page import MOST_UNKNOWN, answer_shown, page_of, page_of_event, unknown_of
from runs.saga_sentence import counted
from runs.saga_state import counts_of
from runs.saga_state import state_of as saga_state
from runs.states import state_of
from runs.undo_run import LOOP, is_undo_run
from runs.waits import wait_of
from sagas.models import Saga
from sagas.needing import LEFT

VIEW_EVENTS = "events.view_runevent"
# How a run stands, in a sentence.
STANDS = {
    "queued": "It waits for a process with a free place",
    "running": "It works",
    "waiting": "It waits, and holds no process",
    "paused": "It is paused: its sealing key is missing",
    "answered": "It answered",
    "declined": "The model refused to answer",
    "failed": "It failed",
    "stopped": "It was stopped",
    "interrupted": "Its process died, and nothing of it runs again",
}


def run_context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """Return what the page shows, as far as the user may see it. Each part is bounded, however long the run."""
    with_words = request.user.has_perm(READ_WORDS)
    answer, no_answer = answer_shown(run) if with_words else ("", "")
    unknown = unknown_of(run)
    wait = wait_of(run)
    record = record_of(run, is_asked_for=request.GET.get("check") == "yes")
    return {
        "run": run,
        "state": state_of(run),
        "summary": summary_of(run),
        "moments": [(name, when(at)) for name, at in moments_of(run) if at],
        "lease": lease_of(run),
        "cost": f"{run.cost_micros / 1_000_000:.6f}",
        "with_words": with_words,
        "answer": answer,
        "no_answer": no_answer,
        "wait": wait,
        "sees_requests": sees_requests(request.user),
        "sees_events": request.user.has_perm(VIEW_EVENTS),
        "unknown": unknown,
        "is_unknown_cut": len(unknown) == MOST_UNKNOWN,
        "takeovers": takeovers_of(run),
        "is_handed_down": run.loop != ROOT_LOOP and not is_approved_run(run),
        "record": record,
        "continued_by": continuations_of(run),
        "is_undo": is_undo_run(run),
        "asks_no_model": is_undo_run(run) or bool(run.workflow),
        "rest": None if wait else rests_of([run]).get(run.id),
        **_saga(run),
        "around": around(request, run),
        **_timeline(request, run, with_words=with_words, broken_at=record.broken_from),
    }  # fmt: skip


def _saga(run: Run) -> dict[str, Any]:
    """What of the run's chain can be undone, and how that stands; nothing where there is nothing."""
    saga = Saga.objects.defer("context").filter(id=run.correlation_id).first()
    if saga is None:
        return {}
    link = reverse("admin:sagas_saga_change", args=[saga.id])
    if is_undo_run(run):
        address = reverse("admin:runs_run_change", args=[saga.id])
        undoes = format_html(
            'It undoes what run <a class="liy-link liy-mono" href="{}">{}</a> did, the newest first: round {}.',
            address, saga.id, run.loop.removeprefix(LOOP),
        )  # fmt: skip
        return {"saga_link": link, "undoes": undoes}
    if run.id != saga.id:
        return {"saga_link": link}
    counts = counts_of([saga.id]).get(saga.id, {})
    told = {
        "state": saga_state(saga),
        "told": counted(saga, counts, 0, is_more=False, bare=bare_of(saga)["bare_told"]),
        "needs": saga.status in LEFT,
        "round": saga.round,
        "compensating_run": saga.compensating_run,
    }
    return {"saga_link": link, "saga": told}


def _timeline(
    request: HttpRequest, run: Run, *, with_words: bool, broken_at: int | None
) -> dict[str, Any]:
    relatives = relatives_of(run)
    if request.GET.get("only") == "failed":
        first = number_asked(request, "from")
        wrong = gone_wrong(run, relatives, first=first, with_words=with_words)
        return {"relatives": relatives, "wrong": wrong, "page": None}
    event = number_asked(request, "event")
    number = page_of_event(run, event) if event else number_asked(request, "steps") or 1
    page = page_of(run, number, with_words=with_words, relatives=relatives, broken_at=broken_at)
    return {"relatives": relatives, "wrong": None, "page": page}


def summary_of(run: Run) -> str:
    """Say in a sentence how it stands, after how long and how much."""
    stands = STANDS.get(run.status, visible(run.status))
    if run.status == "queued" and run.not_before is not None and run.not_before > shown_now():
        stands = "It rests until a time, and holds no process"
    since = ((run.ended_at or shown_now()) - run.created_at).total_seconds()
    steps = f"{run.model_steps} step{'' if run.model_steps == 1 else 's'}"
    calls = f"{run.calls_made} call{'' if run.calls_made == 1 else 's'}"
    told = f"{stands}, {span_in_words(max(0.0, since))} after it was accepted, with {steps} and {calls}."
    if run.losses:
        times = {1: "once", 2: "twice"}.get(run.losses, f"{run.losses} times")
        told += f" Its process was lost {times}."
    return told


def moments_of(run: Run) -> tuple[tuple[str, Any], ...]:
    """Return the times that stand on a head, by what they are."""
    return (
        ("Started", run.created_at),
        ("Taken last", run.taken_at),
        ("Ended", run.ended_at),
        ("Not before", None if run.is_ended else run.not_before),
    )


def around(request: HttpRequest, run: Run) -> list[tuple[str, str]]:
    """Return addresses of what belongs to a run, each with its name, as far as the user may follow."""
    user = request.user
    found = []
    mission = mission_page(run.mission)
    if mission:
        found.append((mission, "Its mission"))
    if user.has_perm("approvals.view_approval"):
        found.append(
            (
                f"{reverse('admin:approvals_approval_changelist')}?status=all&q={run.id}",
                "Its requests for approval",
            )
        )
    if user.has_perm("runs.view_call"):
        address = f"{reverse('admin:runs_call_changelist')}?q={run.id}"
        found.append((f"{address}&doubt=unknown", "Its writes in doubt"))
        found.append((f"{address}&doubt=all", "Its marked writes"))
    if run.entry in WITH_ARRIVALS and run.parent_id is None:
        found.append((reverse("admin:entry_arrival_change", args=[run.id]), "What came in"))
        found.append(
            (f"{reverse('admin:entry_delivery_changelist')}?q={run.id}", "What is owed for it")
        )
    if user.has_perm("audit.view_auditrow"):
        found.append((f"{reverse('admin:audit_auditrow_changelist')}?q={run.id}", "Its audit rows"))
    if user.has_perm(VIEW_EVENTS):
        found.append((f"{reverse('console-events')}?q={run.id}", "Its events"))
    return found  # fmt: skip


def mission_page(mission: str) -> str:
    """Return the address of a mission's page, "" where the console has none."""
    try:
        return reverse("console-mission", args=[mission])
    except NoReverseMatch:
        return ""


def number_asked(request: HttpRequest, name: str) -> int:
    """Return a number that the address names, 0 for what is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
