"""Where other agents want to be told of their tasks; the tasks themselves are runs, by entry."""

from __future__ import annotations

from django.contrib import admin

from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.entry.a2a.models import PushConfig


@admin.register(PushConfig)
class PushConfigAdmin(ReadOnlyAdmin):
    """A list to read; token and credentials are not shown."""

    list_display = ("task_id", "owner", "config_id", "url", "version", "created_at")
    list_filter = ("version",)
    search_fields = ("task__run_id__exact", "owner__exact")
    search_help_text = "A task's id, or an owner, as a whole."
    fields = list_display
    ordering = ("-id",)
