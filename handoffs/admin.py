"""Hand-offs in the console: the threads, and a page of each with its versions beside each other."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from handoffs.errors import HandoffUnknown
from handoffs.listing import facts_of, heads_of
from handoffs.models import Version
from handoffs.page import between, thread_context
from handoffs.read_thread import read_thread
from liyagent.access.permissions import READ_WORDS, VIEW_RUN
from liyagent.core.moments import when
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from missions.links import named_mission_link

# Of a mission, or a digest, so many are found.
MOST_FOUND = 1_000


class ThreadList(ChangeList):  # type: ignore[misc]
    """A page of threads, each with its newest version and facts of its first: two statements more."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """As the theme's, with what each is about."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        heads = heads_of([it.thread for it in self.result_list])
        facts = facts_of([it.snapshot_id for it in self.result_list])
        for first in self.result_list:
            first.head = heads.get(first.thread, first)
            first.about = facts.get(first.snapshot_id)

    def url_for_result(self, result: Any) -> str:
        """Lead to the thread's page."""
        return address_of(result.thread)


@admin.register(Version)
class HandoffAdmin(ReadOnlyAdmin):
    """Threads by their first version, the newest first."""

    list_display = ("began", "what", "versions", "written_by", "named_mission", "thread_id")
    list_display_links = ("began", "thread_id")
    search_fields = ("thread",)
    search_help_text = "A thread's id, a digest, or a mission (its newest 1,000), in full"
    sortable_by = ()
    ordering = ("-at", "-id")
    words_if_empty = "Nothing was handed over yet: no agent handed work to another, and nobody did so over the API."
    words_if_not_found = "Search for a thread's id, a digest or a mission, in full."
    words_above = (
        "What one agent handed another or a person, and what came back. Nothing of it can be changed: a change is a new version. "
        "Open one to have all of it verified, and to see what changed and who read which."
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever sees runs sees what they handed over."""
        return request.user.has_perm(VIEW_RUN)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return request.user.has_perm(VIEW_RUN)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """A row for each thread."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(number=1)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """A list that knows what its threads are about."""
        return ThreadList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look by what an index leads to alone."""
        term = search_term.strip()
        if not term:
            return queryset, False
        thread = as_uuid(term)
        if thread is not None and (of_thread := queryset.filter(thread=thread)).exists():
            return of_thread, False
        newest = Version.objects.order_by("-at", "-id").values_list("thread", flat=True)
        threads = list(
            newest.filter(mission=term)[:MOST_FOUND]
            or Version.objects.filter(snapshot=term).values_list("thread", flat=True)[:MOST_FOUND]
        )
        return queryset.filter(thread__in=set(threads)), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a thread, all of it verified now; nothing is changed by it, and nobody is told to have read it."""
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request):
            raise PermissionDenied
        thread = as_uuid(object_id)
        try:
            told = read_thread(thread) if thread is not None else None
        except HandoffUnknown:
            told = None
        if told is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        with_words = request.user.has_perm(READ_WORDS)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Hand-off {told.thread}",
            **thread_context(told, request.GET.dict(), with_words=with_words),
        }
        return TemplateResponse(request, "admin/handoffs/version/page.html", context)

    @admin.display(description="began")
    def began(self, first: Version) -> SafeString:
        """When its first version was written."""
        return when(first.at)

    @admin.display(description="what was handed over")
    def what(self, first: Any) -> SafeString:
        """What kind, from whom, to whom."""
        return format_html('<span class="liy-wrap">{}</span>', between(first.about))

    @admin.display(description="versions")
    def versions(self, first: Any) -> SafeString:
        """How many there are, and when the newest was written."""
        number = first.head.number
        if number == 1:
            return format_html("{}", 1)
        return format_html("<div>{} {}</div>", number, when(first.head.at))

    @admin.display(description="begun by")
    def written_by(self, first: Version) -> SafeString:
        """Who wrote the first."""
        return format_html('<span class="liy-wrap">{}</span>', cell(first.author))

    @admin.display(description="mission")
    def named_mission(self, first: Version) -> SafeString:
        """Lead to the mission where somebody named one."""
        return named_mission_link(first.mission, stands_in=first.correlation_id or first.thread)

    @admin.display(description="thread")
    def thread_id(self, first: Version) -> SafeString:
        """Its id, in full."""
        return format_html('<span class="liy-mono liy-whole">{}</span>', first.thread)


def address_of(thread: UUID) -> str:
    """Return the address of a thread's page."""
    return reverse("admin:handoffs_version_change", args=[thread])


def as_uuid(text: str) -> UUID | None:
    """Return an id that somebody typed, None where it is none."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None
