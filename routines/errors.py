"""What is raised of routines."""

from __future__ import annotations

from liyagent.core.errors import NotFound


class RoutineUnknown(NotFound):
    """There is no routine with this id."""

    code = "routine.not_found"
