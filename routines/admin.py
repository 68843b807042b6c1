"""Routines in the console: what is suggested, one of them with all that a person has to know, and what they do with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextInputWidget

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_AGENT, VIEW_APPROVAL
from liyagent.agents.models import Agent
from liyagent.core.console import LONGEST_REASON, NothingToSay, action
from liyagent.core.moments import when
from liyagent.core.pills import BAD, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.workflows.models import Workflow
from missions.context import current_stamp
from routines import page, wording
from routines.adopt import adopt_routine
from routines.ask import ask_mining
from routines.dismiss import dismiss_routine
from routines.make_parameter import literals_of, make_parameter
from routines.models import Routine, RoutineState
from routines.request import workflow_key_of
from routines.tools_seen import changed_among
from runs.doubts_admin import as_uuid

NOT_LISTED = ("definition", "origins", "parameters", "as_parameters", "baseline", "runs")


class DismissForm(forms.Form):
    """Why it is dismissed."""

    reason = forms.CharField(max_length=LONGEST_REASON, required=False, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}), help_text="One line, if you like. It is kept with your name.")  # fmt: skip


class ParameterForm(forms.Form):
    """What the parameter is called."""

    name = forms.CharField(max_length=64, required=False, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}), help_text="As runs will be given it: input.NAME. Left empty, one is found.")  # fmt: skip


class RoutineList(ChangeList):  # type: ignore[misc]
    """A page of routines, each with the tools of it that are others now: one look more."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with which of them are stale."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        changed = changed_among([it.tools_seen for it in self.result_list])
        for routine, names in zip(self.result_list, changed, strict=True):
            routine.changed = names


@admin.register(Routine)
class RoutineAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = ("pattern_told", "agent", "stands", "seen", "scored", "mined")
    list_filter = ("state",)
    search_fields = ("id",)
    search_help_text = "An agent's key, or a routine's id, in full"
    sortable_by = ()
    ordering = ("-created_at", "-id")
    list_before_template = "admin/routines/routine/about.html"
    words_above = (
        "What an agent does the same way every time, compiled into a workflow that makes the same calls with no model choosing them. "
        "Nothing is saved before a person adopts it; an adopted one asks the agent where a step fails."
    )
    words_if_empty = (
        "No routine was found yet. Runs that answered, had every call succeed and are recorded in full are looked through once a day; "
        "the page of an agent has them looked through now."
    )
    actions_detail = ("adopt", "dismiss", "make_parameter")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever sees agents sees their routines; words are for who may read them."""
        return request.user.has_perm(VIEW_AGENT)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return request.user.has_perm(VIEW_AGENT)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What the API wants for it."""
        return request.user.has_perm(OPERATE)

    def get_urls(self) -> list[Any]:
        """Add where an agent's runs are looked through."""
        view = self.admin_site.admin_view(self.mine)
        return [path("mine/<slug:key>/", view, name="routines_routine_mine"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave definitions in the database where rows are listed."""
        rows: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and str(match.url_name).endswith("_changelist")
        return rows.defer(*NOT_LISTED) if is_list else rows

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows which are stale."""
        return RoutineList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        term = search_term.strip()
        if not term:
            return queryset, False
        routine_id = as_uuid(term)
        if routine_id is not None:
            return queryset.filter(id=routine_id), False
        return queryset.filter(agent_key=term), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Lead to where the runs of the agent that was looked for are looked through now."""
        key = request.GET.get("q", "").strip()
        offers = self.has_operate_permission(request) and Agent.objects.filter(key=key).exists()
        mine = reverse("admin:routines_routine_mine", args=[key]) if offers else ""
        shown: HttpResponse = super().changelist_view(
            request, {"mine": mine, "mine_of": key, **(extra_context or {})}
        )
        return shown

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a routine; nothing is changed by it."""
        routine: Routine | None = self.get_object(request, object_id)
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request, routine):
            raise PermissionDenied
        if routine is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        with_words = request.user.has_perm(READ_WORDS)
        told = page.routine_told(routine, with_words=with_words)
        may, state = self.has_operate_permission(request), RoutineState(routine.state)
        is_offered = state in {RoutineState.SUGGESTED, RoutineState.SUSPENDED}
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Routine of {routine.agent_key}",
            "routine": routine,
            "it": told,
            "state": wording.state_of(routine),
            "score": pill(told["score"], told["score_kind"]) if told["score"] else "",
            "with_words": with_words,
            "may_operate": may,
            "adopts": may and is_offered and not routine.withheld and not told["changed_tools"],
            "dismisses": may and state not in {RoutineState.ADOPTED, RoutineState.DISMISSED},
            "mines": may and is_offered and bool(routine.withheld or told["changed_tools"]),
            "workflow_key": workflow_key_of(routine),
            "links": self._links(request, routine),
        }
        return TemplateResponse(request, "admin/routines/routine/page.html", context)

    @action(description="Adopt", permissions=["operate"])
    def adopt(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then file the request that a person decides about."""
        routine: Routine = self.row_or_404(request, object_id)
        if request.method == "POST":
            given = {"digest": request.POST.get("digest", "")[:64], "actor": request.user.get_username()}  # fmt: skip
            done = "Somebody who may decide is asked. Until they approve it nothing is saved."
            self.carry_out(request, lambda: adopt_routine(routine_id=routine.id, **given), done=done)  # fmt: skip
            return HttpResponseRedirect(self.page_address(routine))
        told = [
            f"A request is filed that shows all of it and names the digest {routine.digest}. You cannot approve what you asked for yourself, unless the settings let you.",
            f"Approved, it is saved as workflow {workflow_key_of(routine)}, exactly as it is shown now. Nothing runs by that: runs of it are started as of any workflow, and each write of theirs waits or is refused as the agent's own.",
        ]
        return self.confirm(
            request, title="Ask for this routine to be adopted?", told=told, button="Ask for its adoption", form=NothingToSay(),
            hidden=[("digest", routine.digest)], extra={"cancel": self.page_address(routine), "is_harmless": True},
        )  # fmt: skip

    @action(description="Dismiss", permissions=["operate"])
    def dismiss(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then dismiss it for good."""
        routine: Routine = self.row_or_404(request, object_id)
        form = DismissForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            reason, actor = form.cleaned_data["reason"], request.user.get_username()
            self.carry_out(
                request,
                lambda: dismiss_routine(routine_id=routine.id, actor=actor, reason=reason),
                done="It is dismissed: the pattern is never suggested again.",
            )
            return HttpResponseRedirect(self.page_address(routine))
        told = [
            f"Agent {routine.agent_key}: {wording.tools_told(routine.tools)}.",
            "Whatever its runs do from now on, this pattern, these tools in this order, is never suggested again. There is no way back. A request that is open about it is withdrawn.",
        ]
        return self.confirm(
            request, title="Dismiss this routine for good?", told=told, button="Dismiss it for good", form=form,
            extra={"cancel": self.page_address(routine)},
        )  # fmt: skip

    @action(description="Make a parameter", permissions=["operate"], url_path="make-parameter")
    def make_parameter(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask what it is called, then turn the literal at a place into a parameter."""
        routine: Routine = self.row_or_404(request, object_id)
        is_sent = request.method == "POST"
        asked = request.POST if is_sent else request.GET
        place = asked.get("place", "")
        form = ParameterForm(request.POST if is_sent else None)
        if is_sent and form.is_valid():
            given = {"place": place, "digest": asked.get("digest", "")[:64], "name": form.cleaned_data["name"].strip()}  # fmt: skip
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: make_parameter(routine_id=routine.id, actor=actor, **given),
                done="It is given with each run from now on; the routine has another digest.",
            )
            return HttpResponseRedirect(f"{self.page_address(routine)}#values")
        found = next((it for it in literals_of(routine) if it["place"] == place), None)
        if found is None:
            raise Http404
        told = [
            f"{cell(found['shown'])} was the same in all runs that this was compiled from. As a parameter it is given with each run instead.",
            "The routine is compiled anew from the same runs and gets another digest. Later minings keep the parameter.",
        ]
        return self.confirm(
            request, title="Make this value a parameter?", told=told, button="Make it a parameter", form=form,
            hidden=[("place", place), ("digest", routine.digest)], extra={"cancel": self.page_address(routine), "is_harmless": True},
        )  # fmt: skip

    def mine(self, request: HttpRequest, key: str) -> HttpResponse:
        """Ask, then have an agent's recent runs looked through."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        if not Agent.objects.filter(key=key).exists():
            raise Http404
        if request.method == "POST":
            stamp, actor = current_stamp(), request.user.get_username()
            mission = stamp.mission or stamp.request_id
            done = f"The runs of {key} are looked through; Jobs shows how far it is. What is found stands here."  # fmt: skip
            self.carry_out(request, lambda: ask_mining(key, asked_by=actor, mission=mission), done=done)  # fmt: skip
            return HttpResponseRedirect(f"{self.list_address()}?q={key}")
        told = [f"The recent runs of agent {key} that answered, had every call succeed and are recorded in full are read once. No model and no tool is asked."]  # fmt: skip
        return self.confirm(
            request, title=f"Look through the runs of {key} for routines?", told=told, button="Look through them", form=NothingToSay(),
            extra={"cancel": f"{self.list_address()}?q={key}", "is_harmless": True},
        )  # fmt: skip

    @admin.display(description="tools, in their order")
    def pattern_told(self, routine: Routine) -> SafeString:
        """What it calls."""
        return format_html('<span class="liy-wrap liy-mono">{}</span>', wording.tools_told(routine.tools))  # fmt: skip

    @admin.display(description="agent")
    def agent(self, routine: Routine) -> str:
        """Whose runs it was found in."""
        return cell(routine.agent_key)

    @admin.display(description="state")
    def stands(self, routine: Routine) -> SafeString:
        """Where it stands, and what keeps it from being adopted."""
        kept = ""
        if routine.withheld:
            kept = pill("not offered", BAD)
        elif routine.state != RoutineState.DISMISSED and routine.changed:  # type: ignore[attr-defined]
            kept = pill("stale: a tool changed", BAD)
        return format_html("{} {}", wording.state_of(routine), kept)

    @admin.display(description="seen in")
    def seen(self, routine: Routine) -> SafeString:
        """How many runs, and how many different tasks stood behind those that it was compiled from."""
        return format_html('<span class="liy-wrap">{}</span>', wording.support_told(routine))

    @admin.display(description="would have done")
    def scored(self, routine: Routine) -> SafeString:
        """How it does against recorded runs."""
        told, kind = wording.score_told(routine.score)
        return pill(told, kind) if told else format_html("{}", "-")

    @admin.display(description="looked at last")
    def mined(self, routine: Routine) -> SafeString:
        """When it was compiled last."""
        return when(routine.mined_at)

    def _links(self, request: HttpRequest, routine: Routine) -> dict[str, str]:
        """Return where the page leads, as far as the user may follow."""
        user, pk = request.user, routine.pk
        here = {it: reverse(f"admin:routines_routine_{it}", args=[pk]) for it in ("adopt", "dismiss", "make_parameter")}  # fmt: skip
        here["list"] = self.list_address()
        here["mine"] = reverse("admin:routines_routine_mine", args=[routine.agent_key])
        if user.has_perm(VIEW_APPROVAL) and isinstance(routine.approval_id, UUID):
            here["request"] = reverse("admin:approvals_approval_change", args=[routine.approval_id])
        if routine.workflow_key and user.has_perm("workflows.view_workflow"):
            found = Workflow.objects.filter(key=routine.workflow_key).values_list("pk", flat=True).first()  # fmt: skip
            if found:
                here["workflow"] = reverse("admin:workflows_workflow_change", args=[found])
                if user.has_perm(OPERATE) and routine.state == RoutineState.ADOPTED:
                    here["start"] = reverse("admin:workflows_workflow_run_it", args=[found])
        if user.has_perm("runs.view_run"):
            here["runs"] = f"{reverse('admin:runs_run_changelist')}?workflow={routine.workflow_key}"
        if user.has_perm("audit.view_auditrow"):
            here["audit"] = f"{reverse('admin:audit_auditrow_changelist')}?agent={routine.agent_key}"  # fmt: skip
        return here
