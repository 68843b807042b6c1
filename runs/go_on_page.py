"""The page of the console on which a person has a new run go on from one that ended without an answer."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from liyagent.core.console import ConsoleAdmin
from liyagent.core.errors import LiyagentError
from liyagent.core.tables import cell, visible
from missions.context import current_stamp
from runs.go_on import GoingOn, continue_run, unknown_behind
from runs.models import Run

LONGEST_WORD = 20_000
TOLD = (
    "A new run is started with the same task and all that was said and done so far. What was done is told to the agent as "
    "done; no call of the ended run is sent again."
)


class WordForm(forms.Form):
    """A word for the agent, if any."""

    word = forms.CharField(
        required=False,
        max_length=LONGEST_WORD,
        label="A word for the agent",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "autofocus": True}),
        help_text="May be empty. The agent reads it behind its task.",
    )


class DespiteUnknownForm(WordForm):
    """Where writes are of unknown outcome, that is said to be known."""

    despite_unknown = forms.BooleanField(
        required=True,
        label="Go on despite the writes above",
        widget=UnfoldBooleanSwitchWidget(),
        help_text="Nobody knows whether they took effect. That you went on all the same is kept in the audit log.",
    )


def ask_to_go_on(page: ConsoleAdmin, request: HttpRequest, run: Run) -> HttpResponse:
    """Ask by GET, carry out by POST; then lead to the new run."""
    unknown = unknown_behind(run)
    form = (DespiteUnknownForm if unknown else WordForm)(request.POST or None)
    if form.is_valid():
        found = _continued(page, request, run, form.cleaned_data)
        return HttpResponseRedirect(reverse("admin:runs_run_change", args=[found]))
    rows = [
        (it.id, visible(f"{it.server}/{it.tool}"), f"step {it.step}", it.step_key) for it in unknown
    ]
    told = [TOLD]
    if unknown:
        told.append(
            "These writes are of unknown outcome. Better look at their vendor and say what happened to each, then come back."
        )
    return page.confirm(
        request,
        title=f"Go on from run {run.id}",
        told=told,
        button="Start a run that goes on from it",
        form=form,
        rows=rows,
        extra={
            "cancel": page.page_address(run),
            "is_harmless": not unknown,
            "heads": ("Call", "What", "Where", "Step key"),
        },
    )


def _continued(page: ConsoleAdmin, request: HttpRequest, run: Run, said: dict[str, Any]) -> object:
    """The new run's id; that of the ended one where nothing was started, and why is told."""
    try:
        started = continue_run(
            GoingOn(
                run_id=run.id,
                started_by=request.user.get_username(),
                word=said["word"],
                despite_unknown=bool(said.get("despite_unknown")),
                request_id=current_stamp().request_id,
            )
        )
    except LiyagentError as error:
        page.message_user(request, f"Nothing was started: {cell(str(error))}", messages.ERROR)
        return run.id
    page.message_user(request, f"This run goes on from run {run.id}.", messages.SUCCESS)
    return started.run_id
