"""Which marked writes are in doubt: one rule for the list, the API, the console, its counts and the metrics.

In doubt is a write of unknown outcome that was not found since, and one that was sent, or is about to be, and is not
settled. A call that is held for a person was not sent, and work that was handed down leaves nothing at a vendor: neither is.
"""

from __future__ import annotations

from django.db.models import Q

from liyagent.agents.sub_agents import SERVER as SUB_AGENT_SERVER
from liyagent.gateway.outcome import Fate
from runs.late_look import FOUND
from runs.models import Call, Intent

SENT = Q(intent=Intent.SENDING.value) & ~Q(server=SUB_AGENT_SERVER)
# The index of writes in doubt stands over these very conditions (`runs_sent_in_doubt`).
UNSETTLED = Q(fate="") & SENT & ~Q(late_finding=FOUND)
IN_DOUBT = (Q(fate=Fate.UNKNOWN.value) | (Q(fate="") & SENT)) & ~Q(late_finding=FOUND)
# The same for statements that no query set makes; `c` is the marked call.
UNSETTLED_SQL = (
    f"c.fate = '' AND c.intent = '{Intent.SENDING.value}' AND c.server <> '{SUB_AGENT_SERVER}'"
)
MOST_CALLS = 1000


def unsettled_ids() -> list[int]:
    """Return the ids of writes that were sent and are not settled, the oldest mark first, at most 1000."""
    found = Call.objects.filter(UNSETTLED).order_by("marked_at", "id")
    return list(found.values_list("id", flat=True)[:MOST_CALLS])


def in_doubt() -> Q:
    """Match every write in doubt."""
    return IN_DOUBT
