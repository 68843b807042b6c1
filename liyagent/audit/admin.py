"""The audit log in the console: to read."""

from __future__ import annotations

from django.contrib import admin

from liyagent.audit.models import AuditRow
from liyagent.core.paging import BoundedPaginator
from liyagent.core.readonly import ReadOnlyAdmin


@admin.register(AuditRow)
class AuditRowAdmin(ReadOnlyAdmin):
    """Newest first; the database refuses changes, so the page offers none."""

    list_display = ("at", "action", "actor", "run_id", "mission")
    search_fields = ("=run_id", "=mission", "=action")
    paginator = BoundedPaginator
    show_full_result_count = False
