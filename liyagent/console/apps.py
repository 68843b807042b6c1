"""The console, put in order once all rooms have registered their pages."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.contrib import admin


class ConsoleConfig(AppConfig):
    """Names the site and takes the queue's own pages off it."""

    name = "liyagent.console"
    label = "console"

    def ready(self) -> None:
        """After every admin module is loaded: the admin's own `ready`, which loads them, comes before ours."""
        admin.site.site_header = "Liyagent"
        admin.site.site_title = "Liyagent"
        admin.site.index_title = "Dashboard"
        # Its pages show and unpickle what is queued, and let it be started by hand (ruling 33).
        for model in apps.get_app_config("django_q").get_models():
            if admin.site.is_registered(model):
                admin.site.unregister(model)
