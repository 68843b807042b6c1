"""Jobs, as a room."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Registers the table."""

    name = "liyagent.jobs"
    label = "jobs"
