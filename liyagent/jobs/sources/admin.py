"""Sources and their documents in the console. What is saved is saved by the verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_AGENT
from liyagent.core.console import NothingToSay, VerbAdmin, action, json_field
from liyagent.core.moments import when
from liyagent.core.pills import BAD, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.jobs.admin import COLOURS, progress_of
from liyagent.jobs.models import Job
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.sources.save import REQUIRED, TIMES, remove_source, save_source
from liyagent.jobs.sources.standing import last_syncs
from liyagent.jobs.sources.sync import ask_sync

SHOWN_CHARACTERS = 20_000


class SeenWithAgents:
    """Seen by whoever sees agents."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see agents."""
        return request.user.has_perm(VIEW_AGENT) or request.user.has_perm(OPERATE)


@admin.register(Source)
class SourceAdmin(SeenWithAgents, VerbAdmin):
    """Which documents which agents search, and how the last sync of them went."""

    list_display = ("key", "kind", "what", "searched_by", "last_sync", "next_sync", "documents")
    search_fields = ("key",)
    sortable_by = ("key",)
    words_if_empty = "There is no source yet."
    words_above = (
        "What agents search. "
        "Where a sync failed, its job says why, and what was read before stays; a schedule that stands still goes on once the source is saved again."
    )
    actions_detail = ("sync_now", "remove")
    fields = ("key", *REQUIRED, *TIMES)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **given: Any) -> Any:
        """JSON is made storable."""
        if db_field.name in ("agents", "settings"):
            given |= json_field()
        return super().formfield_for_dbfield(db_field, request, **given)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> tuple[str, ...]:  # fmt: skip
        """A key once given stays."""
        return ("key",) if obj else ()

    @admin.display(description="what")
    def what(self, source: Source) -> str:
        """Where it is read from."""
        return cell(", ".join(str(it) for it in source.settings.values())[:200])

    @admin.display(description="searched by")
    def searched_by(self, source: Source) -> str:
        """The agents that may."""
        return cell(", ".join(source.agents)[:200])

    @admin.display(description="last sync")
    def last_sync(self, source: Source) -> SafeString:
        """Where its newest sync stands."""
        job: Job | None = last_syncs([source]).get(source.key)
        if job is None:
            return format_html("{}", "-")
        address = reverse("admin:jobs_job_change", args=[job.pk])
        told = pill(job.status, COLOURS.get(job.status, "quiet"))
        return format_html('{} <a class="liy-link" href="{}">{}</a> {}', told, address, progress_of(job), when(job.ended_at or job.created_at))  # fmt: skip

    @admin.display(description="next sync")
    def next_sync(self, source: Source) -> SafeString:
        """When its schedule comes next, or why it stands still."""
        if source.problem:
            return format_html("{} {}", pill("stands still", BAD), cell(source.problem))
        return when(source.next_slot)

    @admin.display(description="documents")
    def documents(self, source: Source) -> SafeString:
        """Lead to its documents."""
        address = reverse("admin:sources_document_changelist")
        return format_html('<a class="liy-link" href="{}?source__id__exact={}">its documents</a>', address, source.pk)  # fmt: skip

    def save_model(self, request: HttpRequest, obj: Source, form: forms.ModelForm[Source], change: bool) -> None:  # fmt: skip
        """Save by the verb."""
        given = {name: form.cleaned_data[name] for name in REQUIRED + TIMES}
        obj.pk = save_source(obj.key, given, actor=request.user.get_username()).pk

    @action(description="Sync now", permissions=["operate"])
    def sync_now(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then have it brought in step."""
        source = self.row_or_404(request, object_id)
        actor = request.user.get_username()
        return self._asked(
            request, source, lambda: ask_sync(source.key, asked_by=actor), words=("Sync", "Sync it now", "is being synced"),
            told=["Its documents are brought in step in the background; unchanged ones are not written."],
        )  # fmt: skip

    @action(description="Remove", permissions=["operate"])
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then forget it."""
        source = self.row_or_404(request, object_id)
        actor = request.user.get_username()
        return self._asked(
            request, source, lambda: remove_source(source.key, actor=actor), words=("Remove", "Remove it", "is removed"),
            told=["Its documents are forgotten with it; agents find them no more."],
        )  # fmt: skip

    def _asked(
        self,
        request: HttpRequest,
        source: Source,
        verb: Callable[[], object],
        *,
        words: tuple[str, str, str],
        told: list[str],
    ) -> HttpResponse:
        title, button, done = words
        if request.method == "POST":
            self.carry_out(request, verb, done=f"{source} {done}.")
            return HttpResponseRedirect(self.list_address())
        return self.confirm(
            request, title=f"{title} {source}", told=told, button=button, form=NothingToSay(),
            extra={"cancel": self.page_address(source)},
        )  # fmt: skip


@admin.register(Document)
class DocumentAdmin(SeenWithAgents, ReadOnlyAdmin):
    """What was read of each source. Texts are shown to whoever may read words."""

    list_display = ("path", "source", "title", "is_cut", "fetched")
    list_select_related = ("source",)
    list_filter = (("source", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("path__startswith",)
    sortable_by = ()
    words_if_empty = "Nothing was read yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        """Without the index; in the list without the texts."""
        rows: QuerySet[Document] = super().get_queryset(request).defer("search", "text")
        return rows

    def get_fields(self, request: HttpRequest, obj: Document | None = None) -> tuple[str, ...]:
        """The text for who may read words."""
        facts = ("source", "path", "title", "digest", "is_cut", "fetched")
        return (*facts, "words") if request.user.has_perm(READ_WORDS) else facts

    @admin.display(description="fetched")
    def fetched(self, document: Document) -> SafeString:
        """When it was read last as something new."""
        return when(document.fetched_at)

    @admin.display(description="text")
    def words(self, document: Document) -> SafeString:
        """The beginning of its text."""
        return format_html('<pre class="liy-wrap">{}</pre>', document.text[:SHOWN_CHARACTERS])
