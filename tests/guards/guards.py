"""The guards: each a diff that takes one out, and the tests that must turn red without it.

A diff's `search` must stand exactly once in its file; where the code moved on, the guard has to move too.
"""

from __future__ import annotations

from tests.guards.a2a import A2A
from tests.guards.adopting import ADOPTING_GUARDS
from tests.guards.ahead import AHEAD
from tests.guards.alone import ALONE
from tests.guards.approvals import APPROVALS
from tests.guards.audit import AUDIT_GUARDS
from tests.guards.carried import CARRIED
from tests.guards.cohorts import COHORT_GUARDS
from tests.guards.cron import CRON
from tests.guards.delegation import DELEGATION
from tests.guards.deliveries import DELIVERY_GUARDS
from tests.guards.doubts import DOUBTS
from tests.guards.engine import ENGINE_GUARDS
from tests.guards.filing import FILING
from tests.guards.guard import Guard
from tests.guards.handing import HANDING_GUARDS
from tests.guards.handoffs import HANDOFF_GUARDS
from tests.guards.jobs import JOBS
from tests.guards.judging import JUDGING
from tests.guards.keeping import KEEPING
from tests.guards.lists import LISTS
from tests.guards.mcp_server import MCP_SERVER
from tests.guards.missions import MISSIONS
from tests.guards.models import MODELS
from tests.guards.monitoring import MONITORING
from tests.guards.notices import NOTICE_GUARDS
from tests.guards.outside import OUTSIDE
from tests.guards.people import PEOPLE
from tests.guards.record import RECORD
from tests.guards.replays import REPLAY_GUARDS
from tests.guards.roles import ROLE_GUARDS
from tests.guards.roots import ROOT_GUARDS
from tests.guards.run_page import RUN_PAGE_GUARDS
from tests.guards.sagas import SAGA_GUARDS
from tests.guards.sagas_declare import SAGAS_DECLARE
from tests.guards.sagas_pages import SAGAS_PAGES
from tests.guards.sagas_stateful import SAGAS_STATEFUL
from tests.guards.seals import SEAL_GUARDS
from tests.guards.starts import TOLD_STARTS
from tests.guards.taking_over import TAKING_OVER
from tests.guards.teams import TEAMS
from tests.guards.tickets import TICKETS
from tests.guards.tool_guards import TOOL_GUARDS
from tests.guards.traces import TRACES
from tests.guards.webhooks import WEBHOOKS
from tests.guards.workflows import WORKFLOW_DEFINITIONS

GUARDS: tuple[Guard, ...] = (
    *ADOPTING_GUARDS,
    *ALONE,
    *DELEGATION,
    *DELIVERY_GUARDS,
    *HANDOFF_GUARDS,
    *PEOPLE,
    *RUN_PAGE_GUARDS,
    *RECORD,
    *ROLE_GUARDS,
    *ROOT_GUARDS,
    *APPROVALS,
    *AUDIT_GUARDS,
    *TAKING_OVER,
    *TRACES,
    *SAGA_GUARDS,
    *SAGAS_DECLARE,
    *SAGAS_PAGES,
    *SAGAS_STATEFUL,
    *SEAL_GUARDS,
    *MCP_SERVER,
    *MISSIONS,
    *MODELS,
    *NOTICE_GUARDS,
    *MONITORING,
    *OUTSIDE,
    *A2A,
    *CRON,
    *JOBS,
    *TEAMS,
    *WEBHOOKS,
    *KEEPING,
    *CARRIED,
    *TOLD_STARTS,
    *LISTS,
    *JUDGING,
    *AHEAD,
    *DOUBTS,
    *FILING,
    *TOOL_GUARDS,
    *TICKETS,
    *WORKFLOW_DEFINITIONS,
    *ENGINE_GUARDS,
    *HANDING_GUARDS,
    *COHORT_GUARDS,
    *REPLAY_GUARDS,
)
