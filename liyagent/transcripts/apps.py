"""The transcripts room."""

from django.apps import AppConfig


class TranscriptsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.transcripts"
    label = "transcripts"
