"""Webhooks and ticket events, as a room."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers the tables."""

    name = "liyagent.entry.webhooks"
    label = "webhooks"
