"""Users, groups and API keys in the console. Keys are made on the command line or over the API, which show the secret once."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from liyagent.access.keys import revoke_key
from liyagent.access.models import ApiKey
from liyagent.audit.record import record
from liyagent.core.console import ConsoleAdmin, NothingToSay, action
from liyagent.core.errors import LiyagentError
from liyagent.core.moments import shown_now, when
from liyagent.core.paging import BoundedPaginator
from liyagent.core.pills import BAD, GOOD, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell

MOST_CHOSEN = 200


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """No secret and no hash is ever shown. Keys are revoked and not deleted, so that their use can still be told."""

    list_display = ("shown_name", "prefix", "shown_user", "state", "shown_scopes", "made", "used")
    list_display_links = ("shown_name",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    words_if_empty = (
        "There is no key yet: `manage.py apikeys create`, or the API, makes one and shows it once."
    )
    sortable_by = ()
    fields = (
        "shown_name",
        "prefix",
        "shown_user",
        "state",
        "shown_scopes",
        "made",
        "created_by",
        "expires_at",
        "revoked_at",
        "used",
    )
    actions = ("revoke",)
    actions_detail = ("revoke_one",)

    def has_revoke_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Revoking needs what changing would."""
        return request.user.has_perm("access.change_apikey")

    @admin.display(description="name")
    def shown_name(self, key: ApiKey) -> str:
        """Its name."""
        return cell(key.name)

    @admin.display(description="user")
    def shown_user(self, key: ApiKey) -> str:
        """Whose it is."""
        return cell(key.user.get_username())

    @admin.display(description="state")
    def state(self, key: ApiKey) -> SafeString:
        """Whether it is in force."""
        if key.revoked_at:
            return format_html("{} {}", pill("revoked", BAD), when(key.revoked_at))
        if key.expires_at and key.expires_at <= shown_now():
            return format_html("{} {}", pill("expired", WARN), when(key.expires_at))
        if not key.user.is_active:
            return pill("its user is switched off", WARN)
        if key.expires_at:
            return format_html("{} until {}", pill("in force", GOOD), when(key.expires_at))
        return format_html("{} without end", pill("in force", GOOD))

    @admin.display(description="may use")
    def shown_scopes(self, key: ApiKey) -> str:
        """Its scopes in words."""
        return (
            "all that its user holds"
            if "*" in key.scopes
            else cell(", ".join(map(str, key.scopes)))
        )

    @admin.display(description="made")
    def made(self, key: ApiKey) -> SafeString:
        """When it was made."""
        return when(key.created_at)

    @admin.display(description="last used")
    def used(self, key: ApiKey) -> SafeString:
        """When it was used last, to the minute."""
        return when(key.last_used_at)

    @action(description="Revoke the chosen keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse | None:
        """Ask, then end the chosen keys at once; those already revoked are named."""
        keys = list(queryset.order_by("pk")[:MOST_CHOSEN])
        if "confirmed" not in request.POST:
            chosen = [("action", "revoke"), *(("_selected_action", str(it.pk)) for it in keys)]
            return self.ask(request, keys, hidden=chosen)
        self.revoke_each(request, keys)
        return None

    @action(description="Revoke", permissions=["revoke"])
    def revoke_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then end it at once."""
        key = self.row_or_404(request, object_id)
        if request.method != "POST":
            return self.ask(request, [key], hidden=[])
        self.revoke_each(request, [key])
        return HttpResponseRedirect(self.list_address())

    def revoke_each(self, request: HttpRequest, keys: list[ApiKey]) -> None:
        """Revoke them, and name those that cannot be."""
        actor = request.user.get_username()
        for key in keys:
            try:
                revoke_key(key.prefix, actor=actor)
            except LiyagentError as error:
                self.message_user(request, str(error), messages.WARNING)
            else:
                self.message_user(request, f"{key} is revoked.", messages.SUCCESS)

    def ask(
        self, request: HttpRequest, keys: list[ApiKey], *, hidden: list[tuple[str, str]]
    ) -> HttpResponse:
        """Ask before keys are revoked."""
        what = f"{len(keys)} key{'s' if len(keys) != 1 else ''}"
        told = [
            "Whoever uses them is refused from the next request on. A key that is revoked stays so."
        ]
        rows = [
            (cell(it.name), it.prefix, self.shown_user(it), self.state(it), self.used(it))
            for it in keys
        ]
        return self.confirm(
            request, title=f"Revoke {what}", told=told, button=f"Revoke {what}", form=NothingToSay(), rows=rows, hidden=hidden,
            extra={"heads": ("Name", "Prefix", "User", "State now", "Last used")},
        )  # fmt: skip


class UserForm(UserChangeForm):  # type: ignore[misc]
    """Refuses what would leave nobody who may do all."""

    def clean(self) -> dict[str, Any]:
        """Refuse to take the last active administrator away."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        was = (
            self.instance.pk
            and User.objects.filter(pk=self.instance.pk, is_superuser=True, is_active=True).exists()
        )
        stays = cleaned.get("is_superuser") and cleaned.get("is_active")
        others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=self.instance.pk)
        if was and not stays and not others.exists():
            raise forms.ValidationError(
                "This is the last active administrator; make another one first."
            )
        return cleaned


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin[User], ConsoleAdmin):
    """Users are switched off, never deleted: what they did names them."""

    paginator: ClassVar[Any] = BoundedPaginator
    form = UserForm
    add_form = UserCreationForm
    readonly_fields = ("last_login", "date_joined")
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "state", "roles", "email", "last_seen")
    list_filter = ("is_active", "is_superuser", "groups")
    sortable_by = ("username",)
    words_if_empty = "There is no user."
    actions = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the groups along."""
        rows: QuerySet[Any] = super().get_queryset(request).prefetch_related("groups")
        return rows

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes a user."""
        return False

    @admin.display(description="state")
    def state(self, user: User) -> SafeString:
        """Whether the user may log in."""
        return pill("active", GOOD) if user.is_active else pill("switched off", WARN)

    @admin.display(description="roles")
    def roles(self, user: User) -> str:
        """The groups, or that the user may do all."""
        names = ["administrator (may do all)"] if user.is_superuser else []
        return cell(", ".join([*names, *(it.name for it in user.groups.all())]))

    @admin.display(description="last login")
    def last_seen(self, user: User) -> SafeString:
        """When the user logged in last."""
        return when(user.last_login)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save, with an audit row in the transaction that the page opened; no password is told of."""
        super().save_related(request, form, formsets, change)
        user = form.instance
        detail = {
            "user": user.username,
            "set": [name for name in form.changed_data if not name.startswith("password")],
            "groups": sorted(user.groups.values_list("name", flat=True)),
            "is_superuser": user.is_superuser,
            "is_active": user.is_active,
        }
        action_name = "user.saved" if change else "user.created"
        record(action_name, actor=request.user.get_username(), detail=detail)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Add an audit row where a password was set, which goes by a page of its own."""
        if (
            request.resolver_match
            and request.resolver_match.url_name == "auth_user_password_change"
        ):
            record(
                "user.password_set",
                actor=request.user.get_username(),
                detail={"user": obj.username},
            )
        return super().log_change(request, obj, message)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ConsoleAdmin):
    """Roles: what a group may do is changed here, with an audit row."""

    paginator: ClassVar[Any] = BoundedPaginator
    list_display = ("name", "held")
    sortable_by = ("name",)
    words_if_empty = "There is no group: users have what they were given each."
    actions = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the permissions along."""
        rows: QuerySet[Any] = super().get_queryset(request).prefetch_related("permissions")
        return rows

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An audit row cannot be left by Django's own deletion; take its permissions away instead."""
        return False

    @admin.display(description="may")
    def held(self, group: Group) -> str:
        """How many permissions it gives."""
        number = len(group.permissions.all())
        return f"{number} permission{'s' if number != 1 else ''}"

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save, with an audit row in the transaction that the page opened."""
        super().save_related(request, form, formsets, change)
        names = form.instance.permissions.values_list("content_type__app_label", "codename")
        detail = {
            "group": form.instance.name,
            "permissions": sorted(f"{app}.{name}" for app, name in names),
        }
        record("group.saved", actor=request.user.get_username(), detail=detail)
