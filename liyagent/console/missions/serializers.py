"""How the API shows missions."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from missions.models import Mission
from missions.names import clean_mission


class MissionSerializer(serializers.ModelSerializer[Mission]):
    """A named mission: when it was first seen and by whom, when last (to the minute), and where its timeline is.

    `url` is null where somebody wrote what is no mission into the table by hand.
    """

    url = serializers.SerializerMethodField()

    class Meta:
        model = Mission
        fields = ("id", "first_seen", "first_by", "last_seen", "url")
        read_only_fields = fields

    def get_url(self, mission: Mission) -> str | None:
        """Where its timeline is."""
        if clean_mission(mission.id) is None:
            return None
        return reverse("mission-one", args=[mission.id])


class MissionPageSerializer(serializers.Serializer[Any]):
    """A page of named missions; `next` is null at the end."""

    missions = MissionSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class LineSerializer(serializers.Serializer[Any]):
    """One line of a timeline: `source` told it, `told` is a sentence, `facts` are plain; no words of anybody's among them."""

    at = serializers.DateTimeField()
    source = serializers.CharField()  # type: ignore[assignment]  # whose line it is, and not the option of a field
    kind = serializers.CharField()
    told = serializers.CharField()
    by = serializers.CharField()
    run_id = serializers.UUIDField(allow_null=True)
    url = serializers.CharField(allow_null=True, help_text="Where the API shows more.")
    facts = serializers.DictField()


class TimelineSerializer(serializers.Serializer[Any]):
    """A mission and a page of its timeline, the newest first; `next` is null at the end.

    `is_named` is false where the id stands in for a mission that nobody named; then it was first seen by nobody.
    `withheld` names the sources that your permissions leave out.
    """

    id = serializers.CharField()
    is_named = serializers.BooleanField()
    first_seen = serializers.DateTimeField(allow_null=True)
    first_by = serializers.CharField(allow_null=True)
    last_seen = serializers.DateTimeField(allow_null=True)
    entries = LineSerializer(many=True)
    withheld = serializers.ListField(child=serializers.CharField())
    next = serializers.CharField(allow_null=True)
