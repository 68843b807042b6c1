"""Take a routine's row for a change."""

from __future__ import annotations

from uuid import UUID

from liyagent.core.transactions import require_transaction
from routines.errors import RoutineUnknown
from routines.models import Routine


def lock_routine(routine_id: UUID) -> Routine:
    """Return a routine, locked until the caller's transaction ends.

    Behind the request that is open for it, and before the workflow that it is saved as: whoever takes two of them does so in
    this order. Raises `RoutineUnknown`.
    """
    require_transaction("changing a routine")
    found = Routine.objects.select_for_update().filter(id=routine_id).first()
    if found is None:
        raise RoutineUnknown(f"there is no routine {routine_id}")
    return found
