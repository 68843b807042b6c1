"""The small world that runs are carried in."""

from tests.unit.runs.carrying.conftest import world

__all__ = ["world"]
