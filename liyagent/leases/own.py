"""Which holder this process is just now: a claim that names it is over when it is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(slots=True)
class Own:
    """`holder` is None in a process that is none, such as a command at the shell."""

    holder: UUID | None = None


OWN = Own()

# Of a row with `claimed_by`: whoever claimed it is proven dead, has ended, or let its lease lapse.
CLAIMER_IS_GONE = """ OR (d.claimed_by IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM leases_holder h WHERE h.id = d.claimed_by AND h.renew_by > liyagent_now()))"""
