"""The small world of runs, for those that wait for a person."""

from __future__ import annotations

from tests.unit.runs.carrying.conftest import world

__all__ = ["world"]
