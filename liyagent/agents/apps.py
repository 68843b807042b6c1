"""The agents room."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from liyagent.agents.hooks import import_hook_modules


class AgentsConfig(AppConfig):
    """Registers the room's tables, the hooks that are always there, and the operator's."""

    name = "liyagent.agents"
    label = "agents"

    def ready(self) -> None:
        """Import what registers hooks and local tools. Raises `BadSetting` naming the module that cannot be."""
        import_module("liyagent.agents.built_in_hooks")
        import_hook_modules(settings.LIYAGENT.hook_modules)
        import_module("liyagent.agents.checks")
