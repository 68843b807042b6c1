"""Sources and documents as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.jobs.serializers import JobSerializer
from liyagent.jobs.sources.models import Document, Source, SourceKind


class SourceInput(serializers.Serializer[Any]):
    """What is declared of a source; `save_source` checks it. What is left out stays."""

    kind = serializers.ChoiceField(choices=SourceKind.choices, required=False)
    agents = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Keys of the agents that may search it, or patterns such as `ops-*`.",
    )
    settings = serializers.DictField(
        required=False,
        help_text='By kind: `{"folder": "/srv/docs"}`, `{"urls": [...]}`, `{"server": "wiki"}`.',
    )
    schedule = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="When it is synced: five fields, such as `30 2 * * *`; empty: when it is asked for.",
    )
    timezone = serializers.CharField(required=False, help_text="Such as `Europe/Berlin`.")


class SourceSerializer(serializers.ModelSerializer[Source]):
    """A source as it stands; `last_syncs` and `counts` in the context tell of its sync and its documents."""

    agents = serializers.ListField(child=serializers.CharField())
    settings = serializers.DictField()
    documents = serializers.SerializerMethodField()
    last_sync = serializers.SerializerMethodField()

    class Meta:
        model = Source
        fields = (
            "key",
            "kind",
            "agents",
            "settings",
            "documents",
            "last_sync",
            "schedule",
            "timezone",
            "next_slot",
            "problem",
            "saved_by",
            "updated_at",
        )
        read_only_fields = fields

    def get_documents(self, source: Source) -> int:
        """Count its documents."""
        return int(self.context["counts"].get(source.id, 0))

    @extend_schema_field(JobSerializer(allow_null=True))
    def get_last_sync(self, source: Source) -> Any:
        """Show its newest sync, null where there is none."""
        found = self.context["last_syncs"].get(source.key)
        return JobSerializer(found).data if found else None


class SourcePage(serializers.Serializer[Any]):
    """Sources by key; `next` is null on the last page."""

    sources = SourceSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document without its text."""

    class Meta:
        model = Document
        fields = ("path", "title", "digest", "is_cut", "fetched_at")
        read_only_fields = fields


class DocumentPage(serializers.Serializer[Any]):
    """Documents by path; `next` is null on the last page."""

    documents = DocumentSerializer(many=True)
    next = serializers.CharField(allow_null=True)
