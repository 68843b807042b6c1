"""Agents in the console: saving goes through the verb, so that it is checked, versioned and audited."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.agents.compensations import suggested_undos
from liyagent.agents.containment import (
    contain_agent,
    contain_all,
    is_everything_contained,
    release_agent,
    release_all,
)
from liyagent.agents.definitions import save_agent
from liyagent.agents.fields import CHECKS, DEFAULTS, problems_of
from liyagent.agents.models import Agent, AgentVersion
from liyagent.core.console import NothingToSay, ReasonForm, VerbAdmin, action, json_field
from liyagent.core.errors import LiyagentError
from liyagent.core.json_path import json_path
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, WARN, pill
from liyagent.core.tables import cell, visible

MOST_VERSIONS = 20
LONGEST_CHANGE = 300
# So many are asked about at once.
MOST_CHOSEN = 200
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Agent", ("key", "name", "owner", "run_as", "channels", "is_enabled")),
    (
        "Model",
        ("provider", "model", "base_url", "api_key_env", "model_timeout_seconds", "max_answer_tokens", "is_streaming", "instructions", "require_replay"),
    ),
    ("Tools and writes", ("tool_patterns", "write_posture", "may_wait", "compensations")),
    ("Bounds of a run", ("max_steps", "max_calls", "max_tokens", "max_seconds")),
    ("Words and checks", ("recording", "guardrails", "hooks")),
)  # fmt: skip


# What each of these fields is, with something that it takes.
EXAMPLES: dict[str, tuple[str, Any]] = {
    "channels": ('The ways in by which it may be started; ["*"] for any.', ["api", "cli"]),
    "tool_patterns": (
        "The tools it is offered, by server and name; an empty list offers none.",
        ["jira/create_issue", "servicenow/*"],
    ),
    "compensations": (
        "How its own writes are undone when a run of it fails, by the tool that made them; an undo reads args and result of the write.",
        {"jira/create_issue": {"tool": "delete_issue", "args": {"key": "{{ result.key }}"}}},
    ),
    "guardrails": (
        "What may not go into its model, and what may not come out of it. Kinds of checks: length, pattern, personal_data.",
        {
            "input": [{"kind": "length", "most": 20000}],
            "output": [{"kind": "personal_data", "what": ["email"], "action": "mask"}],
        },
    ),
    "hooks": (
        "The operator's own code around its steps and calls, by registered name, asked in this order.",
        ["log_calls", "refuse_deletes"],
    ),
}


class AgentForm(forms.ModelForm[Agent]):
    """Checks as a file is checked."""

    class Meta:
        model = Agent
        fields = tuple(CHECKS)
        help_texts: ClassVar = {
            name: f"{told} Example: {json.dumps(example)}"
            for name, (told, example) in EXAMPLES.items()
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Beside its help, the map of undos tells what contracts suggest for the tools that it has."""
        super().__init__(*args, **kwargs)
        field = self.fields.get("compensations")
        if field is not None and (told := suggestions_for(self.instance)):
            field.help_text = format_html("{}<br>{}", field.help_text, told)

    def definition(self) -> dict[str, Any]:
        """Return what the form holds as a definition; a key once given stays."""
        key = {"key": self.instance.key} if self.instance.pk else {}
        return {**self.cleaned_data, **key}

    def clean(self) -> dict[str, Any]:
        """Show each problem beside its field; a list or object left empty has its default."""
        for name, value in self.cleaned_data.items():
            if value is None and name in DEFAULTS:
                self.cleaned_data[name] = deepcopy(DEFAULTS[name])
        refused = set(self.errors)
        for place, problem in problems_of(self.definition())[1].items():
            name = str(place[0])
            told = f"{json_path(place)} {problem}" if len(place) > 1 else problem
            if name not in refused:
                self.add_error(name if name in self.fields else None, told)
        return self.cleaned_data


@admin.register(Agent)
class AgentAdmin(VerbAdmin):
    """Agents are switched off or contained, never deleted: runs name them."""

    form = AgentForm
    formfield_overrides = {models.JSONField: json_field()}
    list_display: tuple[str, ...] = (
        "key",
        "shown_name",
        "state",
        "shown_model",
        "shown_posture",
        "shown_version",
    )
    list_filter = ("is_contained", "is_enabled", "provider", "write_posture", "recording")
    search_fields = ("key", "name")
    sortable_by = ("key",)
    words_if_empty = "There is no agent yet: `manage.py agents load` reads them from files."
    actions = ("contain", "release")
    actions_list = ("contain_everything", "release_everything")
    actions_detail = ("contain_one", "release_one")

    def has_contain_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Containing and releasing want what the API wants for them."""
        return self.has_change_permission(request)

    @admin.display(description="name")
    def shown_name(self, agent: Agent) -> str:
        """Its name, and nothing that could move the cursor."""
        return cell(agent.name)

    @admin.display(description="state")
    def state(self, agent: Agent) -> SafeString:
        """Say in words whether it works, and if not by whom and why."""
        if agent.is_contained:
            who = format_html(
                '<span class="liy-age liy-wrap">by {}: {}</span>',
                cell(agent.contained_by),
                cell(agent.contained_reason),
            )
            return format_html("{} {}", pill("contained", BAD), who)
        return pill("ready", GOOD) if agent.is_enabled else pill("switched off", WARN)

    @admin.display(description="model")
    def shown_model(self, agent: Agent) -> SafeString:
        """Provider and model."""
        return format_html(
            '{} <span class="liy-age">{}</span>', cell(agent.model), cell(agent.provider)
        )

    @admin.display(description="its writes are")
    def shown_posture(self, agent: Agent) -> str:
        """What happens to its writes, in words."""
        return {"allow": "let through", "hold": "held for a person", "refuse": "refused"}[
            agent.write_posture
        ]

    @admin.display(description="version")
    def shown_version(self, agent: Agent) -> SafeString:
        """The version, and since when it stands."""
        return format_html("{} {}", agent.version, when(agent.updated_at))

    @admin.display(description=f"last {MOST_VERSIONS} versions")
    def versions_shown(self, agent: Agent) -> SafeString:
        """Who saved each of the last versions, when, and what it changed."""
        return versions_of(agent)

    def get_fieldsets(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """The fields by what they are about; one that no group names comes last."""
        grouped = {name for _, names in GROUPS for name in names}
        others = tuple(name for name in CHECKS if name not in grouped)
        groups = [
            (title, {"fields": tuple(it for it in names if it in CHECKS)})
            for title, names in GROUPS
        ]
        if others:
            groups.append(("Other", {"fields": others}))
        return [*groups, ("Versions", {"fields": ("versions_shown",)})] if obj else groups

    def get_readonly_fields(
        self, request: HttpRequest, obj: Agent | None = None
    ) -> tuple[str, ...]:
        """A key once given stays."""
        return ("key", "versions_shown") if obj else ()

    def save_model(self, request: HttpRequest, obj: Agent, form: AgentForm, change: bool) -> None:
        """Save through the verb."""
        saved = save_agent(form.definition(), actor=request.user.get_username())
        obj.pk, obj.version = saved.pk, saved.version

    @action(description="Contain the chosen agents", permissions=["contain"])
    def contain(self, request: HttpRequest, queryset: QuerySet[Agent]) -> HttpResponse | None:
        """Ask why, then contain each; one that already is, is named."""
        agents = list(queryset.order_by("key")[:MOST_CHOSEN])
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        if "confirmed" in request.POST and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.each(
                request,
                agents,
                lambda it: contain_agent(it.key, actor=actor, reason=reason),
                "contained",
            )
            return None
        return self.ask(request, agents, form=form, verb="contain")

    @action(description="Release the chosen agents", permissions=["contain"])
    def release(self, request: HttpRequest, queryset: QuerySet[Agent]) -> HttpResponse | None:
        """Ask, then release each; one that is not contained is named."""
        agents = list(queryset.order_by("key")[:MOST_CHOSEN])
        if "confirmed" in request.POST:
            actor = request.user.get_username()
            self.each(request, agents, lambda it: release_agent(it.key, actor=actor), "released")
            return None
        return self.ask(request, agents, form=NothingToSay(), verb="release")

    @action(description="Contain", permissions=["contain"])
    def contain_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then contain it."""
        agent = self.row_or_404(request, object_id)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: contain_agent(agent.key, actor=actor, reason=reason),
                done=f"{agent} is contained.",
            )
            return HttpResponseRedirect(self.list_address())
        return self.ask(request, [agent], form=form, verb="contain", is_one=True)

    @action(description="Release", permissions=["contain"])
    def release_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then release it."""
        agent = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request, lambda: release_agent(agent.key, actor=actor), done=f"{agent} is released."
            )
            return HttpResponseRedirect(self.list_address())
        return self.ask(request, [agent], form=NothingToSay(), verb="release", is_one=True)

    @action(
        description="Contain everything", permissions=["contain"], url_path="contain-everything"
    )
    def contain_everything(self, request: HttpRequest) -> HttpResponse:
        """Ask why, then contain every agent there is or will be."""
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            self.carry_out(
                request,
                lambda: contain_all(actor=actor, reason=reason),
                done="Everything is contained.",
            )
            return HttpResponseRedirect(self.list_address())
        told = [
            "No run of any agent starts, resumes or sends anything, from each run's next statement on, until this is released.",
            "It is contained already." if is_everything_contained() else "",
        ]
        return self.confirm(
            request,
            title="Contain everything",
            told=[it for it in told if it],
            button="Contain everything",
            form=form,
        )

    @action(
        description="Release everything", permissions=["contain"], url_path="release-everything"
    )
    def release_everything(self, request: HttpRequest) -> HttpResponse:
        """Ask, then end the containment of everything."""
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: release_all(actor=actor),
                done="The containment of everything has ended.",
            )
            return HttpResponseRedirect(self.list_address())
        told = ["Runs go on. Agents that are contained on their own stay so."]
        if not is_everything_contained():
            told.append("Everything is not contained now: there is nothing to release.")
        return self.confirm(
            request,
            title="Release everything",
            told=told,
            button="Release everything",
            form=NothingToSay(),
        )

    def each(self, request: HttpRequest, agents: list[Agent], verb: Any, done: str) -> None:
        """Do it to each, and name those that it cannot be done to."""
        names = []
        for agent in agents:
            try:
                verb(agent)
            except LiyagentError as error:
                self.message_user(request, str(error), messages.WARNING)
            else:
                names.append(agent.key)
        if names:
            self.message_user(
                request, f"{done.capitalize()}: {', '.join(names)}.", messages.SUCCESS
            )

    def ask(
        self,
        request: HttpRequest,
        agents: list[Agent],
        *,
        form: forms.Form,
        verb: str,
        is_one: bool = False,
    ) -> HttpResponse:
        """Ask before agents are contained or released."""
        told = {
            "contain": "Nothing of these agents starts, resumes or sends anything, from each run's next statement on. Their open runs end as failed at the next step.",
            "release": "These agents may start and send again.",
        }[verb]
        what = f"{len(agents)} agent{'s' if len(agents) != 1 else ''}"
        chosen = [("action", verb), *(("_selected_action", str(it.pk)) for it in agents)]
        return self.confirm(
            request,
            title=f"{verb.capitalize()} {what}",
            told=[told],
            button=f"{verb.capitalize()} {what}",
            form=form,
            rows=[(it.key, cell(it.name), self.state(it)) for it in agents],
            hidden=[] if is_one else chosen,
            extra={"heads": ("Agent", "Name", "State now")},
        )


def suggestions_for(agent: Agent) -> str:
    """Return the undos that contracts suggest and the agent's map does not have, as JSON to paste; "" where none."""
    undos = suggested_undos(agent.tool_patterns) if agent.pk else {}
    left = {name: it for name, it in undos.items() if name not in agent.compensations}
    return f"Contracts of its tools suggest: {visible(json.dumps(left, ensure_ascii=False))}" if left else ""  # fmt: skip


def versions_of(agent: Agent) -> SafeString:
    """Return the last versions as a table: number, who, when, and each field that it changed."""
    rows = list(AgentVersion.objects.filter(agent=agent).order_by("-number")[: MOST_VERSIONS + 1])
    before = [*(it.definition for it in rows[1:]), None]
    lines = format_html_join(
        "",
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class='liy-words'>{}</td></tr>",
        (
            (
                row.number,
                cell(row.created_by),
                when(row.created_at),
                changes_between(earlier, row.definition),
            )
            for row, earlier in list(zip(rows, before, strict=True))[:MOST_VERSIONS]
        ),
    )
    heads = "<th>Version</th><th>By</th><th>Saved</th><th>What it changed</th>"
    return format_html(
        "<table class='liy-table'><thead><tr>{}</tr></thead>{}</table>", SafeString(heads), lines
    )


def changes_between(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    """Return a line for each field that differs, from what to what."""
    if before is None:
        return "all of it"
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    lines = [f"{name}: {short(before.get(name))} → {short(now.get(name))}" for name in names]
    return "\n".join(lines) or "nothing"


def short(value: Any) -> str:
    """Return a value of a definition, cut where it is long, and saying so."""
    text = visible(json.dumps(value, ensure_ascii=False))
    return (
        text
        if len(text) <= LONGEST_CHANGE
        else f"{text[:LONGEST_CHANGE]}… (cut: {len(text)} characters)"
    )
