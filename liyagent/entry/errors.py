"""Why an arrival became no run."""

from __future__ import annotations

from liyagent.core.errors import Conflict


class ArrivalRefused(Conflict):
    """It was received and kept, and nothing was started."""

    code = "arrival.refused"
