"""`POST /api/agents/{key}/playground`: a run as the console's page starts one."""

from __future__ import annotations

from runs.api import RunStart

ENTRY = "playground"


class PlaygroundStart(RunStart):
    """`POST /api/agents/{key}/playground`: as `/api/agents/{key}/runs`, by the way in that the console's page has.

    The agent must permit the channel `playground`. The run is watched at `/api/runs/{id}/stream`.
    """

    entry = ENTRY
