"""Jobs as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.jobs.models import Job


class JobSerializer(serializers.ModelSerializer[Job]):
    """A job, its progress (`done` of `total`, null where nobody knows) and why it ended as it did."""

    class Meta:
        model = Job
        fields = (
            "id",
            "kind",
            "subject",
            "status",
            "done",
            "total",
            "words",
            "reason",
            "result",
            "asked_by",
            "mission",
            "attempt",
            "losses",
            "created_at",
            "started_at",
            "ended_at",
        )
        read_only_fields = fields


class JobPage(serializers.Serializer[Any]):
    """Jobs, newest first; `next` is null on the last page."""

    jobs = JobSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class AskedSerializer(serializers.Serializer[Any]):
    """The job that was asked for; `is_new` is false where one of its kind about the same thing goes on already."""

    job = JobSerializer()
    is_new = serializers.BooleanField()
