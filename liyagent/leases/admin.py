"""Holders and leases in the console: to read."""

from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.core.moments import age, shown_now, span, when
from liyagent.core.pills import BAD, GOOD, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.leases.models import Holder, Lease


@admin.register(Holder)
class HolderAdmin(ReadOnlyAdmin):
    """Which processes live, and until when."""

    list_display = (
        "shown_name",
        "state",
        "renewed_by",
        "shown_lock",
        "shown_pid",
        "born",
        "shown_id",
    )
    list_display_links = ("shown_name",)
    list_filter = ("is_draining",)
    list_before_template = "admin/leases/holder/about.html"
    search_fields = ("name",)
    sortable_by = ()
    ordering = ("-renew_by",)
    words_if_empty = "No process lives now: nothing carries a run."
    fields = (
        "shown_name",
        "state",
        "renewed_by",
        "shown_lock",
        "shown_pid",
        "born",
        "shown_id",
        "formats",
        "key_ids",
    )

    @admin.display(description="process")
    def shown_name(self, holder: Holder) -> str:
        """Its name."""
        return cell(holder.name)

    @admin.display(description="state")
    def state(self, holder: Holder) -> SafeString:
        """Whether its lease stands."""
        left = (holder.renew_by - shown_now()).total_seconds()
        if left < 0:
            return pill(f"lease lapsed {span(-left)} ago", BAD)
        return pill("draining", WARN) if holder.is_draining else pill("alive", GOOD)

    @admin.display(description="pid")
    def shown_pid(self, holder: Holder) -> SafeString:
        """Its number, and the boot of its host."""
        return format_html(
            '{} <span class="liy-age">boot {}</span>', holder.pid, cell(holder.boot_id[:8])
        )

    @admin.display(description="lease until")
    def renewed_by(self, holder: Holder) -> SafeString:
        """Until when all it holds stands."""
        return when(holder.renew_by)

    @admin.display(description="lives by")
    def shown_lock(self, holder: Holder) -> SafeString:
        """The key of its life-lock, and the session that keeps it; without one it is left to lapse."""
        if holder.life_lock is None:
            return format_html(
                '{} <span class="liy-age liy-wrap">{}</span>',
                pill("its lease alone", WARN), "no life-lock: other hosts wait until it has lapsed",
            )  # fmt: skip
        return format_html(
            '<span class="liy-mono">life-lock {}</span> <span class="liy-age">kept by session {}</span>',
            holder.life_lock, cell(holder.backend_pid),
        )  # fmt: skip

    @admin.display(description="since")
    def born(self, holder: Holder) -> SafeString:
        """When this life of it began."""
        return when(holder.created_at)

    @admin.display(description="holder")
    def shown_id(self, holder: Holder) -> SafeString:
        """Its id."""
        return format_html('<span class="liy-mono">{}</span>', holder.id)


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin):
    """Who has a named right."""

    list_display = ("name", "held_by", "epoch", "until_when")
    list_before_template = "admin/leases/lease/about.html"
    search_fields = ("name",)
    sortable_by = ()
    words_if_empty = "No right is leased now."
    fields = ("name", "held_by", "epoch", "until_when")

    @admin.display(description="held by")
    def held_by(self, lease: Lease) -> SafeString:
        """The holder, by name where it lives."""
        name = Holder.objects.filter(id=lease.holder).values_list("name", flat=True).first()
        return format_html('{} <span class="liy-age liy-mono">{}</span>', cell(name), lease.holder)

    @admin.display(description="until")
    def until_when(self, lease: Lease) -> SafeString:
        """Until when, and how far off that is."""
        left = age(lease.until, shown_now())
        return format_html(
            "{} {}", when(lease.until), pill("lapsed", WARN) if left.endswith("ago") else ""
        )
