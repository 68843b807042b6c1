"""The ASGI application that `manage.py serve` runs."""

from __future__ import annotations

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from liyagent.core.hang_ups import outlive_callers
from liyagent.core.limits import limit_body
from liyagent.core.streams import stream_after
from liyagent.entry.mcp_server.mount import serve_mcp
from liyagent.telemetry.spans import tell_requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
tell_requests()
# Whoever starts, decides or sends something may be gone before it is answered (CR-05).
_served = serve_mcp(outlive_callers(get_asgi_application()))
application = stream_after(limit_body(_served, limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
