"""Every attack, by name; and what no gate here stops."""

from __future__ import annotations

from tests.injection.asks_agents import AGENTS
from tests.injection.asks_approvals import APPROVALS
from tests.injection.asks_approver import APPROVER
from tests.injection.asks_arguments import ARGUMENTS
from tests.injection.asks_leaks import LEAKS, LIMITS
from tests.injection.asks_names import EFFECTS, NAMES, odd
from tests.injection.asks_reach import REACH
from tests.injection.asks_words import ROLES
from tests.injection.asks_work import WORK
from tests.injection.tools import ODD_NAMES

CASES = (
    *REACH,
    *ROLES,
    *EFFECTS,
    *NAMES,
    *(odd(f"name {number}", name) for number, name in enumerate(ODD_NAMES)),
    *ARGUMENTS,
    *APPROVALS,
    *AGENTS,
    *LEAKS,
    *APPROVER,
)
WORK_WITHOUT_GATES = tuple(it for it in CASES if it.succeeds_without_gates)

__all__ = ["CASES", "LIMITS", "WORK", "WORK_WITHOUT_GATES"]
