"""The small world of runs, for those that look at what was recorded of them."""

from __future__ import annotations

from tests.unit.runs.carrying.conftest import world
from tests.unit.runs.conftest import server

__all__ = ["server", "world"]
