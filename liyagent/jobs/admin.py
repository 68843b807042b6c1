"""Jobs in the console: how far they are, and an end to them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, VIEW_AGENT
from liyagent.core.console import NothingToSay, action
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.jobs.end import cancel_job
from liyagent.jobs.handlers import HANDLERS
from liyagent.jobs.models import Job

COLOURS = {"done": GOOD, "failed": BAD, "interrupted": BAD, "cancelled": WARN}


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """What is worked on in the background; any process goes on with it."""

    list_display = ("what", "state", "progress", "why", "asked_by", "created", "ended")
    list_filter = ("status", "kind")
    search_fields = ("subject__exact", "id__exact")
    sortable_by = ()
    words_if_empty = "There is no job yet."
    words_above = (
        "Work in the background. "
        "One that is queued or running goes on by itself, whichever process dies. A failed one wants what its reason says, and is asked for anew; so is an interrupted one, whose process stopped."
    )
    actions_detail = ("cancel",)
    fields = (
        "id",
        "kind",
        "subject",
        "state",
        "progress",
        "words",
        "reason",
        "outcome",
        "more",
        "asked_by",
        "mission",
        "attempt",
        "losses",
        "created",
        "started",
        "ended",
    )

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see agents."""
        return request.user.has_perm(VIEW_AGENT) or request.user.has_perm(OPERATE)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may operate."""
        return request.user.has_perm(OPERATE)

    @admin.display(description="job")
    def what(self, job: Job) -> str:
        """Its kind, and what it is about."""
        return cell(f"{job.kind.replace('_', ' ')} of {job.subject}")

    @admin.display(description="state")
    def state(self, job: Job) -> SafeString:
        """Where it stands."""
        return pill(job.status, COLOURS.get(job.status, QUIET))

    @admin.display(description="progress")
    def progress(self, job: Job) -> str:
        """How far it is."""
        return progress_of(job)

    @admin.display(description="reason")
    def why(self, job: Job) -> str:
        """Why it ended so, and until then what it is at, or waits for."""
        return cell(why_of(job))

    @admin.display(description="what came of it")
    def outcome(self, job: Job) -> SafeString:
        """What its kind tells, line by line."""
        return format_html_join("", "<div>{}: {}</div>", outcome_of(job)) or format_html("{}", "-")

    @admin.display(description="more")
    def more(self, job: Job) -> SafeString:
        """Lead to what else its kind shows."""
        handler = HANDLERS.get(job.kind)
        if handler is None or not handler.report:
            return format_html("{}", "-")
        address = f"{reverse(handler.report)}?job_id__exact={job.pk}"
        return format_html('<a class="liy-link" href="{}">what was found</a>', address)

    @admin.display(description="asked")
    def created(self, job: Job) -> SafeString:
        """When it was asked for."""
        return when(job.created_at)

    @admin.display(description="begun")
    def started(self, job: Job) -> SafeString:
        """When it was first taken."""
        return when(job.started_at)

    @admin.display(description="ended")
    def ended(self, job: Job) -> SafeString:
        """When it ended."""
        return when(job.ended_at)

    @action(description="Cancel", permissions=["operate"])
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask by GET, cancel by POST."""
        job = self.row_or_404(request, object_id)
        if request.method == "POST":
            actor = request.user.get_username()
            done = f"{job} is cancelled."
            self.carry_out(request, lambda: cancel_job(job.id, actor=actor), done=done)
            return HttpResponseRedirect(self.page_address(job))
        told = ["What its steps kept stays; the one in hand is not kept. It can be asked for anew."]
        return self.confirm(
            request, title=f"Cancel {job}", told=told, button="Cancel it", form=NothingToSay(),
            extra={"cancel": self.page_address(job)},
        )  # fmt: skip


def why_of(job: Job) -> str:
    """Return why a job ended so; of one that goes on, what it last said."""
    return job.words if job.ended_at is None else job.reason


def outcome_of(job: Job) -> list[tuple[str, str]]:
    """Return what came of a job in lines for people: a name, and what is told by it."""
    told = []
    for name, value in job.result.items():
        shown = "; ".join(f"{it}: {count}" for it, count in value.items()) if isinstance(value, dict) else value  # fmt: skip
        if shown not in ("", None):
            told.append((name.replace("_", " "), cell(shown)))
    return told


def progress_of(job: Job) -> str:
    """Return how far a job is: `3 of 12`, or `3` where nobody knows of how many."""
    return f"{job.done} of {job.total}" if job.total is not None else str(job.done)
