"""Policies and data policies in the console. What is saved is saved by the verbs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.console import NothingToSay, VerbAdmin, action
from liyagent.core.errors import BadInput
from liyagent.core.moments import when
from liyagent.core.pills import GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell, visible
from liyagent.gateway.data_policies import (
    DEFAULTS,
    read_data_policy,
    remove_data_policy,
    save_data_policy,
    set_enabled,
)
from liyagent.gateway.models import DataPolicy, Policy
from liyagent.gateway.policy_versions import activate_policy, add_version


class PolicyAdmin(VerbAdmin):
    """A stored version never changes; a new text is a new version, put into force on a page of its own."""

    list_display = ("shown_name", "version", "state", "shown_by", "created", "shown_note")
    list_display_links = ("shown_name",)
    list_filter = ("is_active",)
    search_fields = ("name",)
    sortable_by = ()
    words_if_empty = "There is no policy yet: none permits a call."
    fields = ("name", "text", "note")
    actions_detail = ("put_into_force",)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Policy | None = None
    ) -> tuple[str, ...]:
        """A version that is stored is shown only."""
        return (
            ("shown_name", "version", "state", "shown_by", "created", "shown_note", "shown_text")
            if obj
            else ()
        )

    def get_fields(self, request: HttpRequest, obj: Policy | None = None) -> tuple[str, ...]:
        """All of a stored version; of a new one what can be said."""
        return self.get_readonly_fields(request, obj) or ("name", "text", "note")

    def has_change_permission(self, request: HttpRequest, obj: Policy | None = None) -> bool:
        """Nobody changes a version."""
        return False

    def has_activate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Putting one into force wants what the API wants for it."""
        return request.user.has_perm("gateway.change_policy")

    @admin.display(description="policy set")
    def shown_name(self, policy: Policy) -> str:
        """Its name."""
        return cell(policy.name)

    @admin.display(description="state")
    def state(self, policy: Policy) -> SafeString:
        """Whether it is the one in force."""
        return pill("in force", GOOD) if policy.is_active else pill("not in force", QUIET)

    @admin.display(description="added by")
    def shown_by(self, policy: Policy) -> str:
        """Who added it."""
        return cell(policy.created_by)

    @admin.display(description="added")
    def created(self, policy: Policy) -> SafeString:
        """When it was added."""
        return when(policy.created_at)

    @admin.display(description="note")
    def shown_note(self, policy: Policy) -> str:
        """What was said of it."""
        return cell(policy.note)

    @admin.display(description="text")
    def shown_text(self, policy: Policy) -> SafeString:
        """The policies, what is invisible written out."""
        return format_html('<div class="liy-words liy-mono">{}</div>', visible(policy.text))

    def save_model(
        self, request: HttpRequest, obj: Policy, form: forms.ModelForm[Policy], change: bool
    ) -> None:
        """Add the next version of that name, through the verb."""
        added = add_version(
            obj.text, name=obj.name, actor=request.user.get_username(), note=obj.note
        )
        obj.pk, obj.version = added.pk, added.version

    @action(description="Put into force", permissions=["activate"])
    def put_into_force(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then make it the one in force."""
        policy = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request, lambda: activate_policy(policy, actor=actor), done=f"{policy} is in force."
            )
            return HttpResponseRedirect(self.list_address())
        active = Policy.objects.filter(is_active=True).first()
        told = [
            f"Every tool call is judged by {policy} from the next statement of each run on.",
            f"It takes the place of {active}."
            if active
            else "None is in force now: every call is refused.",
        ]
        return self.confirm(
            request, title=f"Put {policy} into force", told=told, button="Put it into force", form=NothingToSay(),
            rows=[(policy_text(policy),)], extra={"cancel": self.page_address(policy)},
        )  # fmt: skip


class DataPolicyForm(forms.ModelForm[DataPolicy]):
    """Checks as a file is checked."""

    class Meta:
        model = DataPolicy
        fields = ("name", "kind", "regex", "path", "tools", "action", "is_enabled")

    def definition(self) -> dict[str, Any]:
        """Return what the form holds as a file would say it."""
        columns = {"enabled": "is_enabled"}
        return {name: self.cleaned_data.get(columns.get(name, name)) for name in DEFAULTS}

    def clean(self) -> dict[str, Any]:
        """Show what a file would be refused for."""
        if not self.errors:
            try:
                read_data_policy(self.definition())
            except BadInput as error:
                self.add_error(None, str(error))
        return self.cleaned_data


class DataPolicyAdmin(VerbAdmin):
    """What may not leave in a call's arguments."""

    form = DataPolicyForm
    list_display = ("shown_name", "state", "looks_for", "shown_where", "what_then", "shown_by")
    list_filter = ("is_enabled", "kind", "action")
    search_fields = ("name",)
    sortable_by = ()
    words_if_empty = "There is no data policy yet: none masks or refuses anything."
    actions_detail = ("switch", "remove")

    def get_readonly_fields(
        self, request: HttpRequest, obj: DataPolicy | None = None
    ) -> tuple[str, ...]:
        """A name once given stays."""
        return ("name",) if obj else ()

    def has_remove_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Removing wants what deleting does."""
        return request.user.has_perm("gateway.delete_datapolicy")

    @admin.display(description="name")
    def shown_name(self, policy: DataPolicy) -> str:
        """Its name."""
        return cell(policy.name)

    @admin.display(description="state")
    def state(self, policy: DataPolicy) -> SafeString:
        """Whether it acts."""
        return pill("in force", GOOD) if policy.is_enabled else pill("switched off", WARN)

    @admin.display(description="looks for")
    def looks_for(self, policy: DataPolicy) -> SafeString:
        """The kind, or the expression."""
        return format_html(
            '{} <span class="liy-age liy-wrap">{}</span>',
            policy.get_kind_display(),
            cell(policy.regex) if policy.regex else "",
        )

    @admin.display(description="in")
    def shown_where(self, policy: DataPolicy) -> SafeString:
        """Where in the arguments, and of which tools."""
        where = "anywhere in the arguments" if policy.path == "*" else f"at {policy.path}"
        tools = "of every tool" if policy.tools == "*" else f"of {policy.tools}"
        return format_html(
            '<span class="liy-wrap">{}</span> <span class="liy-age liy-wrap">{}</span>',
            cell(where),
            cell(tools),
        )

    @admin.display(description="and then")
    def what_then(self, policy: DataPolicy) -> str:
        """What happens to the call."""
        return "the call is refused" if policy.action == "deny" else "it is masked"

    @admin.display(description="added by")
    def shown_by(self, policy: DataPolicy) -> SafeString:
        """Who added it, and when."""
        return format_html("{} {}", cell(policy.created_by), when(policy.created_at))

    def save_model(
        self, request: HttpRequest, obj: DataPolicy, form: DataPolicyForm, change: bool
    ) -> None:
        """Save through the verb."""
        name = obj.name if change else form.cleaned_data["name"]
        saved, _ = save_data_policy(name, form.definition(), actor=request.user.get_username())
        obj.pk = saved.pk

    @action(description="Switch on or off", permissions=["change"])
    def switch(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then switch it to the other state."""
        policy = self.row_or_404(request, object_id)
        to_enabled = (
            not policy.is_enabled if request.method != "POST" else request.POST.get("to") == "on"
        )
        word = "on" if to_enabled else "off"
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request, lambda: set_enabled(policy.name, is_enabled=to_enabled, actor=actor), done=f"{policy} is switched {word}."
            )  # fmt: skip
            return HttpResponseRedirect(self.list_address())
        told = [
            "Calls are held against it again."
            if to_enabled
            else "What it looks for may leave, from each run's next statement on."
        ]
        return self.confirm(
            request, title=f"Switch {policy} {word}", told=told, button=f"Switch it {word}", form=NothingToSay(),
            hidden=[("to", word)], extra={"is_harmless": to_enabled, "cancel": self.page_address(policy)},
        )  # fmt: skip

    @action(description="Remove", permissions=["remove"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then remove it."""
        policy = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            self.carry_out(
                request,
                lambda: remove_data_policy(policy.name, actor=actor),
                done=f"{policy} is removed.",
            )
            return HttpResponseRedirect(self.list_address())
        told = ["What it looks for may leave, from each run's next statement on."]
        return self.confirm(
            request, title=f"Remove {policy}", told=told, button="Remove it", form=NothingToSay(), extra={"cancel": self.page_address(policy)}
        )  # fmt: skip


def policy_text(policy: Policy) -> SafeString:
    """Return a policy's text as a page shows it."""
    return format_html('<div class="liy-words liy-mono">{}</div>', visible(policy.text))
