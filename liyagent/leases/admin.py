"""Holders and leases in the console: to read."""

from __future__ import annotations

from django.contrib import admin

from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.leases.models import Holder, Lease


@admin.register(Holder)
class HolderAdmin(ReadOnlyAdmin):
    """Which processes live, and until when."""

    list_display = ("name", "id", "pid", "renew_by", "is_draining", "created_at")
    list_filter = ("is_draining",)
    search_fields = ("name",)
    show_full_result_count = False


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin):
    """Who has a named right."""

    list_display = ("name", "holder", "epoch", "until")
    search_fields = ("name",)
    show_full_result_count = False
