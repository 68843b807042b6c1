"""Which visit a kind's way has."""

from __future__ import annotations

from tests.trials.cuts.ways.a2a import A2a
from tests.trials.cuts.ways.asked import Copilot, Playground, Resume
from tests.trials.cuts.ways.cron import Cron
from tests.trials.cuts.ways.hooks import Ticket, Webhook
from tests.trials.cuts.ways.mcp import Mcp
from tests.trials.cuts.ways.teams import Teams
from tests.trials.cuts.ways.visit import Visit

VISITS: dict[str, type[Visit]] = {
    "cron": Cron,
    "teams": Teams,
    "webhook": Webhook,
    "ticket": Ticket,
    "a2a": A2a,
    "mcp": Mcp,
    "copilot": Copilot,
    "playground": Playground,
    "resume": Resume,
}
