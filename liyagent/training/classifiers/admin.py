"""Classifiers in the console: which versions there are, and how good they were."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.access.permissions import OPERATE, VIEW_AGENT
from liyagent.core.moments import when
from liyagent.core.readonly import ReadOnlyAdmin
from liyagent.core.tables import cell
from liyagent.training.classifiers.models import Classifier


@admin.register(Classifier)
class ClassifierAdmin(ReadOnlyAdmin):
    """Each version, measured on examples that it was not trained on."""

    list_display = ("key", "version", "right", "always", "examples", "names", "trained_by", "made")
    search_fields = ("key__exact", "job_id__exact")
    sortable_by = ()
    words_if_empty = "There is no classifier yet: manage.py classifier train KEY FILE."
    words_above = (
        "What says of a short text which label it bears. "
        "One that is told right no more often than the baseline has learned nothing."
    )
    fields = ("key", "version", "right", "always", "examples", "names", "trained_by", "made", "job")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As to see."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see agents."""
        return request.user.has_perm(VIEW_AGENT) or request.user.has_perm(OPERATE)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Classifier]:
        """Without what was learned."""
        rows: QuerySet[Classifier] = super().get_queryset(request).defer("sealed")
        return rows

    @admin.display(description="told right")
    def right(self, row: Classifier) -> str:
        """Of the examples that were held out."""
        return f"{share(row.accuracy)} of {row.measured_on} held out"

    @admin.display(description="by always saying the commonest")
    def always(self, row: Classifier) -> str:
        """What it has to be better than."""
        return share(row.baseline)

    @admin.display(description="trained on")
    def examples(self, row: Classifier) -> str:
        """How many examples."""
        return str(row.trained_on)

    @admin.display(description="labels")
    def names(self, row: Classifier) -> str:
        """The labels, and how many examples each had."""
        return cell(", ".join(f"{label}: {count}" for label, count in row.labels.items())[:500])

    @admin.display(description="trained")
    def made(self, row: Classifier) -> SafeString:
        """When it was kept."""
        return when(row.created_at)

    @admin.display(description="job")
    def job(self, row: Classifier) -> SafeString:
        """Lead to the job."""
        address = reverse("admin:jobs_job_change", args=[row.job_id])
        return format_html('<a class="liy-link" href="{}">its job</a>', address)


def share(value: float | None) -> str:
    """Return a share as people read it."""
    return "nobody knows" if value is None else f"{value:.0%}"
