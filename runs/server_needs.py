"""What runs still need of a tool server: told to the gateway before the server is removed."""

from __future__ import annotations

from django.db.models import QuerySet

from liyagent.gateway.needed import Need
from runs.models import Call, Run, RunStatus
from runs.unsettled import UNSETTLED

# So many are looked at and named; that there are more changes nothing.
MOST_RUNS = 1000
MOST_NAMED = 5
LIVING = (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.WAITING, RunStatus.PAUSED)


def need_of(server: str) -> Need:
    """Say which runs have a write in doubt at `server`, or one that waits for a person.

    `loses`: how many late looks would find no reader any more.
    """
    living = (
        Run.objects.filter(status__in=LIVING, attempt__gt=0)
        .order_by("-created_at", "-id")
        .values("id")[:MOST_RUNS]
    )
    open_calls = Call.objects.filter(fate="", server=server, run_id__in=living)
    blocks = _named(open_calls.filter(UNSETTLED), "a write is in doubt at it") or _named(
        open_calls, "a call to it waits for a person"
    )
    looks = Call.objects.filter(late_look_at__isnull=False, server=server)[:MOST_RUNS].count()
    loses = f"{looks} writes of unknown outcome are not looked for once more" if looks else ""
    return Need(blocks=blocks, loses=loses)


def _named(calls: QuerySet[Call], why: str) -> str:
    """Why these calls are in the way, with the first of their runs; "" where there are none."""
    runs = list(
        calls.order_by("run_id").values_list("run_id", flat=True).distinct()[: MOST_NAMED + 1]
    )
    if not runs:
        return ""
    named = ", ".join(map(str, runs[:MOST_NAMED])) + (" and more" if len(runs) > MOST_NAMED else "")
    return f"{why} in run {named}; disable it, and remove it when these have ended"
