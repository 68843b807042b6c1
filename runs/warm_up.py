"""Import what a process needs for its first step before it is asked for one: a takeover should not wait for it."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from liyagent.agents.models import Agent
from liyagent.gateway import wire
from liyagent.providers.client import load_sdk
from liyagent.telemetry.spans import tracing_of

logger = logging.getLogger(__name__)


def warm_up() -> None:
    """Import the MCP client (0.6 s of CPU) and the SDKs of the providers that enabled agents name (up to 1.7 s).

    On a thread of its own, beside whatever the process does already; what fails here is met at its first use.
    """
    try:
        tracing_of(settings.LIYAGENT.traces)
        wire.warm_up()
        providers = Agent.objects.filter(is_enabled=True).order_by("provider")
        for provider in providers.values_list("provider", flat=True).distinct():
            load_sdk(provider)
    except (DatabaseError, InterfaceError, ImportError) as error:
        logger.warning("not warmed up: %s", error)
    finally:
        connection.close()
