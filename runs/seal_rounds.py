"""What runs have to do with seals: each process seals what was appended and exports roots; a mission's pack holds its runs.

Imported when the process starts.
"""

from __future__ import annotations

from uuid import UUID

from events import export_roots
from events.pack import MISSION_CHAINS
from events.seal_heads import DUE, due_values, seal_due
from runs.models import Run
from runs.rounds import ROUNDS, Round


def chains_of_mission(mission: str, limit: int) -> list[UUID]:
    """Return the chains of a mission's runs, at most so many."""
    chains = Run.objects.filter(mission=mission).order_by().values_list("correlation_id", flat=True)
    return list(chains.distinct()[:limit])


MISSION_CHAINS.append(chains_of_mission)
ROUNDS["seals"] = Round(look=seal_due, due=DUE, values=due_values)
# Of its own: its target may be slow, or away.
ROUNDS["roots"] = Round(
    look=export_roots.export_due, due=export_roots.DUE, values=export_roots.due_values
)
