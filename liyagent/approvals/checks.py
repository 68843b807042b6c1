"""What `manage.py check --deploy` looks at: that what happens to requests is told, and told in private."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core import checks

from liyagent.core.checks import TAG, query

TRIGGERS = ("approvals_approval_tell_filed", "approvals_approval_tell_changed")


@checks.register(TAG, deploy=True)
def check_notices(**_: Any) -> Iterable[checks.CheckMessage]:
    """The triggers that write notices are there and fire."""
    rows = query(
        "SELECT tgname FROM pg_trigger WHERE tgname = ANY(%s) AND tgenabled IN ('O', 'A')",
        [*TRIGGERS],
    )
    missing = sorted(set(TRIGGERS) - {name for (name,) in rows}) if rows is not None else []
    if missing:
        yield checks.Error(
            f"nobody is told of approvals: {', '.join(missing)} is not there, or disabled",
            hint="Find out who took it off. ALTER TABLE approvals_approval ENABLE TRIGGER ALL, or restore the migration.",
            id="liyagent.E060",
        )


@checks.register(TAG, deploy=True)
def check_channel(**_: Any) -> Iterable[checks.CheckMessage]:
    """Who asks for what, and who decided, goes over the network sealed."""
    if settings.LIYAGENT.approval_webhook_url.startswith("http:"):
        yield checks.Warning(
            "LIYAGENT_APPROVAL_WEBHOOK_URL is http: what is asked for and who decides is sent in the clear",
            hint="Give it an address by https; signatures keep notices from being forged, not from being read.",
            id="liyagent.W061",
        )
