"""Sources and their documents, with the index that they are searched by."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Q

LANGUAGE = "english"


class SourceKind(models.TextChoices):
    """Where documents are read from."""

    FOLDER = "folder", "a folder"
    URLS = "urls", "addresses"
    MCP = "mcp_resources", "resources of a tool server"


class Source(models.Model):
    """Documents of one origin, and the agents that may search them.

    `agents`: keys and patterns such as `triage` or `ops-*`. `settings` by kind: `{"folder"}`, `{"urls"}`, `{"server"}`.

    With a `schedule` of five fields it is synced at each of its slots, the next being `next_slot`; `problem` says why it stands still.
    """

    key = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=16, choices=SourceKind.choices)
    agents = models.JSONField(default=list)
    settings = models.JSONField(default=dict)
    saved_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()
    schedule = models.CharField(max_length=200, blank=True, default="", db_default="")
    timezone = models.CharField(max_length=64, blank=True, default="UTC", db_default="UTC")
    next_slot = models.DateTimeField(null=True)
    problem = models.CharField(max_length=300, blank=True, default="", db_default="")

    class Meta:
        ordering = ("key",)
        constraints = (
            models.CheckConstraint(name="sources_kind", condition=Q(kind__in=SourceKind.values)),
        )
        indexes = (
            models.Index(
                fields=["next_slot"], name="sources_due", condition=Q(next_slot__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.key


class Document(models.Model):
    """One text of a source. `digest` is of what was fetched and how it is read: the same again is not written.

    `is_cut`: the text was longer than what is kept. `search` is made by PostgreSQL: the title weighs more.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE)
    path = models.CharField(max_length=1000)
    digest = models.CharField(max_length=64)
    title = models.CharField(max_length=300)
    text = models.TextField()
    is_cut = models.BooleanField(default=False)
    fetched_at = models.DateTimeField()
    search = models.GeneratedField(
        expression=SearchVector("title", weight="A", config=LANGUAGE)
        + SearchVector("text", weight="B", config=LANGUAGE),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        ordering = ("source_id", "path")
        constraints = (
            models.UniqueConstraint(name="sources_one_document_a_path", fields=["source", "path"]),
        )
        indexes = (GinIndex(fields=["search"], name="sources_document_search"),)

    def __str__(self) -> str:
        return self.path
