"""Workflows in the console: their steps as a picture, their runs and versions, and their definition to be changed."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, VIEW_RUN
from liyagent.core.canonical import digest
from liyagent.core.console import NothingToSay, VerbAdmin, action
from liyagent.core.errors import LiyagentError
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, WARN, pill
from liyagent.core.tables import cell
from liyagent.workflows.errors import DefinitionWrong, VersionMoved, WorkflowTaken
from liyagent.workflows.forms import FIELDS, WorkflowForm
from liyagent.workflows.models import Workflow
from liyagent.workflows.page import about
from liyagent.workflows.remove import remove_workflow
from liyagent.workflows.run_form import RunForm
from liyagent.workflows.save import save_given
from liyagent.workflows.start import start_workflow
from missions.context import current_stamp
from runs.start import Started

# The way in of whoever starts something in the console.
ENTRY = "playground"


@admin.register(Workflow)
class WorkflowAdmin(VerbAdmin):
    """What is saved and removed is so by the verbs."""

    form = WorkflowForm
    list_display = ("key", "shown_name", "state", "shown_agent", "shown_version")
    list_filter = ("is_enabled",)
    search_fields = ("key", "name", "agent__key")
    sortable_by = ("key",)
    list_select_related = ("agent",)
    words_above = (
        "Governed calls in an order that was written down. A run of one that fails has what it did undone, newest first. "
        "Switched off, none starts; runs under way keep the definition that they were started with."
    )
    words_if_empty = "There is no workflow yet: `manage.py workflows save` reads them from files."
    actions_detail = ("run_it", "remove")
    change_form_outer_before_template = "admin/workflows/workflow/about.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workflow]:
        """Leave definitions in the database where rows are listed."""
        rows: QuerySet[Workflow] = super().get_queryset(request).select_related("agent")
        match = request.resolver_match
        is_list = match is not None and str(match.url_name).endswith("_changelist")
        return rows.defer("definition") if is_list else rows

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The one form there is."""
        return WorkflowForm

    def get_fieldsets(self, request: HttpRequest, obj: Workflow | None = None) -> Any:
        """Who may only see it is shown its definition above."""
        may = self.has_change_permission(request, obj) if obj else True
        names = (*FIELDS, "version") if may else FIELDS[:-1]
        return [("Change it" if obj and may else None, {"fields": names})]

    def get_readonly_fields(self, request: HttpRequest, obj: Workflow | None = None) -> tuple[str, ...]:  # fmt: skip
        """A key once given stays."""
        return ("key",) if obj else ()

    @admin.display(description="name")
    def shown_name(self, workflow: Workflow) -> str:
        """Its name, and nothing that could move the cursor."""
        return cell(workflow.name)

    @admin.display(description="state")
    def state(self, workflow: Workflow) -> SafeString:
        """Whether runs of it start, and if not why."""
        return state_told(workflow)

    @admin.display(description="agent")
    def shown_agent(self, workflow: Workflow) -> str:
        """Whose gates its runs pass."""
        return workflow.agent.key

    @admin.display(description="version")
    def shown_version(self, workflow: Workflow) -> SafeString:
        """The version, and since when it stands."""
        return format_html("{} {}", workflow.version, when(workflow.updated_at))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """As of other pages; the picture stands above the form, but where a form is shown again because of an error."""
        context = dict(extra_context or {})
        if object_id is not None and request.method == "GET":
            row = self.get_object(request, object_id)
            if row is not None and self.has_view_permission(request, row):
                sees_runs = cast("Any", request.user).has_perm(VIEW_RUN)
                context["about"] = {**about(row, sees_runs=sees_runs), "state": state_told(row)}
        return super().changeform_view(request, object_id, form_url, context)

    def _changeform_view(self, request: HttpRequest, object_id: str | None, form_url: str, extra_context: Any) -> Any:  # fmt: skip
        """What changed between the check of a form and its saving is told by a second check: what was typed stays."""
        try:
            return super()._changeform_view(request, object_id, form_url, extra_context)
        except (VersionMoved, WorkflowTaken, DefinitionWrong):
            return super()._changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Workflow, form: WorkflowForm, change: bool) -> None:  # fmt: skip
        """Save through the verb."""
        saved = save_given(
            form.given(),
            actor=request.user.get_username(),
            expected_version=form.cleaned_data["version"] if change else 0,
        )
        obj.pk, obj.version = saved.pk, saved.version

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return cast("Any", request.user).has_perm(OPERATE)  # type: ignore[no-any-return]

    @action(description="Start a run", permissions=["operate"], url_path="run-it")
    def run_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the input, then start a run and show it."""
        row: Workflow = self.row_or_404(request, object_id)
        form = RunForm(row, request.POST) if request.method == "POST" else RunForm(row)
        if form.is_valid() and (started := self._started(request, row, form)):
            return HttpResponseRedirect(reverse("admin:runs_run_change", args=[started.run_id]))
        told = [
            "It does what it does for real: its calls pass the gates of its agent, and what is held waits for a person.",
        ]
        return self.confirm(
            request, title=f"Start a run of {row.key}", told=told, button="Start it", form=form,
            extra={"cancel": self.page_address(row), "is_harmless": True},
        )  # fmt: skip

    def _started(self, request: HttpRequest, row: Workflow, form: RunForm) -> Started | None:
        """Start it by the verb; None where that refused, which is told."""
        given, stamp = form.given(), current_stamp()
        try:
            return start_workflow(
                key=row.key,
                given=given,
                entry=ENTRY,
                started_by=request.user.get_username(),
                mission=stamp.mission,
                request_id=stamp.request_id,
                start_key=str(form.cleaned_data["once"]),
                body_digest=digest(["workflow", row.key, given]),
            )
        except LiyagentError as error:
            self.message_user(request, cell(str(error)), messages.ERROR)
        return None

    def has_remove_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may delete workflows; Django's own way would leave no audit row."""
        return cast("Any", request.user).has_perm("workflows.delete_workflow")  # type: ignore[no-any-return]

    @action(description="Remove", permissions=["remove"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then remove it."""
        row: Workflow = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            done = f"{row.key} is removed."
            if self.carry_out(request, lambda: remove_workflow(row.key, actor=actor), done=done):
                return HttpResponseRedirect(self.list_address())
            return HttpResponseRedirect(self.page_address(row))
        told = [
            f"Workflow {row.key} and its {row.version} versions go. What its runs did is kept with them.",
            "To have no run start for now, switch it off instead.",
        ]
        return self.confirm(
            request, title=f"Remove workflow {row.key}", told=told, button="Remove it", form=NothingToSay(),
            extra={"cancel": self.page_address(row)},
        )  # fmt: skip


def state_told(workflow: Workflow) -> SafeString:
    """Say in words whether runs of a workflow start."""
    if not workflow.is_enabled:
        return pill("switched off", WARN)
    if workflow.agent.is_contained:
        return pill("its agent is contained", BAD)
    if not workflow.agent.is_enabled:
        return pill("its agent is switched off", WARN)
    return pill("ready", GOOD)
