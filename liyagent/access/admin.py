"""API keys in the console: to see and to revoke; they are made on the command line, which shows the secret once."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from liyagent.access.errors import KeyUnknown
from liyagent.access.keys import revoke_key
from liyagent.access.models import ApiKey


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin[ApiKey]):
    """No secret and no hash is ever shown."""

    list_display = (
        "name",
        "prefix",
        "user",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )
    list_filter = ("revoked_at",)
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    show_full_result_count = False
    fields = list_display
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds a key here: its secret could not be shown once and for all."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Nobody edits a key."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Keys are revoked, so that their use can still be told."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Revoking needs what changing would."""
        return request.user.has_perm("access.change_apikey")

    @admin.action(description="Revoke the chosen keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """End the chosen keys at once; those already revoked are named."""
        for key in queryset:
            try:
                revoke_key(key.prefix, actor=request.user.get_username())
            except KeyUnknown as error:
                self.message_user(request, str(error), messages.WARNING)
            else:
                self.message_user(request, f"{key} is revoked.")
