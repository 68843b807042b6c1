"""The console's playground: choose an agent, say the task, and watch the run by its address, in as many browsers as like."""

from __future__ import annotations

import hashlib
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_RUN
from liyagent.agents.channels import is_open
from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.core.tables import cell, visible
from liyagent.entry.playground.api import ENTRY
from liyagent.entry.playground.tell import now_told
from missions.context import current_stamp
from runs.doubts_admin import sees_requests
from runs.go_on import LONGEST_CHAIN
from runs.head import run_head
from runs.models import Run
from runs.start import LONGEST_TASK, start_run
from runs.transcript import task_of
from runs.waits import wait_of

MOST_AGENTS = 500
LONGEST_NONCE = 60
LONGEST_SHOWN = 4000
# By these who starts a run says its words; a bot's or a trigger's are those of others, whoever it acts as.
SAID_BY_ITS_STARTER = frozenset({"api", "copilot", "a2a", ENTRY})


class AskForm(forms.Form):
    """An agent, and what it is asked. `nonce` is the form's own: sent twice, it is one run."""

    agent = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    task = forms.CharField(
        max_length=LONGEST_TASK,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
        help_text="What the agent is asked to do. Its tools are real: what it writes is written.",
    )
    nonce = forms.CharField(max_length=LONGEST_NONCE, widget=forms.HiddenInput())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the agents that may be asked here."""
        super().__init__(*args, **kwargs)
        self.fields["agent"].choices = agents_offered()  # type: ignore[attr-defined]  # it is a ChoiceField


def agents_offered() -> list[tuple[str, str]]:
    """Return the agents that permit the playground and are not switched off or contained, by name; at most 500."""
    rows = Agent.objects.filter(is_enabled=True, is_contained=False).order_by("name", "key")
    found = rows.values_list("key", "name", "channels")[:MOST_AGENTS]
    return [
        (key, visible(f"{name} ({key})"))
        for key, name, channels in found
        if is_open(channels, ENTRY)
    ]


def show_playground(request: HttpRequest) -> HttpResponse:
    """Ask by GET, start by POST; then lead to the run's own address."""
    if not request.user.has_perm(OPERATE):
        raise PermissionDenied
    if request.method == "POST":
        form = AskForm(request.POST)
        run_id = _started(request, form) if form.is_valid() else None
        if run_id is not None:
            return HttpResponseRedirect(reverse("console-watch", args=[run_id]))
    else:
        form = AskForm(initial={"agent": request.GET.get("agent", ""), "nonce": token_urlsafe(16)})
    context = {
        **admin.site.each_context(request),
        "title": "Playground",
        "form": form,
        "has_agents": bool(form.fields["agent"].choices),  # type: ignore[attr-defined]
        "earlier": f"{reverse('admin:runs_run_changelist')}?entry={ENTRY}",
        "sees_runs": request.user.has_perm(VIEW_RUN),
    }
    return TemplateResponse(request, "admin/playground/ask.html", context)


def watch_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a run as it stands, and go on showing it: a refresh, or another browser, watches the same one."""
    run = _run(request, run_id)
    context = {
        **admin.site.each_context(request),
        "title": f"Watch run {run.id}",
        "task": visible(_task(request, run)[:LONGEST_SHOWN]),
        "stream": reverse("run-stream", args=[run.id]),
        "now_address": reverse("console-now", args=[run.id]),
        **_now(request, run),
    }
    return TemplateResponse(request, "admin/playground/watch.html", context)


def show_now(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the part of that page that changes; `X-Liyagent-Ended` says whether it will again."""
    run = _run(request, run_id)
    headers = {
        "X-Liyagent-Ended": "yes" if run.is_ended else "no",
        "Cache-Control": "no-store",
    }
    return TemplateResponse(
        request, "admin/playground/now.html", _now(request, run), headers=headers
    )


def _run(request: HttpRequest, run_id: UUID) -> Run:
    if not request.user.has_perm(VIEW_RUN):
        raise PermissionDenied
    try:
        return run_head(run_id)
    except LiyagentError:
        raise Http404 from None


def _is_own(request: HttpRequest, run: Run) -> bool:
    """Whether all that it was asked was said by who looks: also in the runs that it goes on from."""
    name, at = request.user.get_username(), run.correlation_id
    for _ in range(LONGEST_CHAIN):
        rows = Run.objects.filter(id=at).values_list("started_by", "entry", "continues")
        started_by, entry, behind = rows.first() or ("", "", None)
        if not name or started_by != name or entry not in SAID_BY_ITS_STARTER:
            return False
        if behind is None:
            return True
        at = behind
    return False


def _task(request: HttpRequest, run: Run) -> str:
    return task_of(run) if request.user.has_perm(READ_WORDS) or _is_own(request, run) else ""


def _now(request: HttpRequest, run: Run) -> dict[str, Any]:
    user = request.user
    with_words = user.has_perm(READ_WORDS)
    return {
        "run": run,
        "wait": wait_of(run),
        "sees_requests": sees_requests(user),
        "may_operate": user.has_perm(OPERATE),
        **now_told(run, with_words=with_words, with_answer=with_words or _is_own(request, run)),
    }


def _started(request: HttpRequest, form: AskForm) -> UUID | None:
    """The run that was started, or that this form started before; None where none may be, and why is told."""
    data, stamp = form.cleaned_data, current_stamp()
    said = hashlib.sha256(f"{data['agent']}\n{data['task']}".encode()).hexdigest()
    try:
        started = start_run(
            agent_key=data["agent"],
            task=data["task"],
            entry=ENTRY,
            started_by=request.user.get_username(),
            mission=stamp.mission,
            request_id=stamp.request_id,
            # No client's key has a space in it.
            start_key=f"playground {data['nonce']} {said}",
            body_digest=said,
        )
    except LiyagentError as error:
        messages.error(request, f"Nothing was started: {cell(str(error))}")
        return None
    return started.run_id
