"""The roles of a new installation: groups made once; what an operator changes of them later stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

from liyagent.core.errors import BadInput

ADMINISTRATOR = "administrator"
ROLES: Mapping[str, str] = {
    "viewer": "sees agents, workflows, runs without their words, servers, tools and policies",
    "auditor": "a viewer who also reads the words of runs and the audit log, and opens and closes confidential concerns",
    "approver": "a viewer who decides about what waits for a person, says what happened to writes in doubt, and works on tickets",
    "operator": "a viewer who starts and stops runs, contains and manages agents, manages workflows, servers, tools and policies, says what happened to writes in doubt, and works on tickets",
}
VIEWER = (
    "access.keep_own_keys",
    "agents.view_agent",
    "agents.view_agentversion",
    "approvals.view_approval",
    "gateway.view_datapolicy",
    "gateway.view_policy",
    "gateway.view_tool",
    "gateway.view_toolserver",
    "leases.view_holder",
    "leases.view_lease",
    "runs.view_call",
    "runs.view_run",
    "tickets.view_ticket",
    "workflows.view_workflow",
)
AUDITOR = (
    "access.view_apikey",
    "audit.handle_concern",
    "audit.view_auditrow",
    "audit.view_concern",
    "events.view_runevent",
    "transcripts.content.read",
)
MANAGED = (
    "agents.agent",
    "gateway.datapolicy",
    "gateway.policy",
    "gateway.tool",
    "gateway.toolserver",
    "workflows.workflow",
)
OPERATOR = (
    "agents.operate",
    *(it.replace(".", f".{verb}_") for it in MANAGED for verb in ("add", "change", "delete")),
)
SETTLE = "runs.settle_call"
WORK_ON_TICKETS = "tickets.work"
PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "viewer": VIEWER,
    "auditor": (*VIEWER, *AUDITOR),
    "approver": (*VIEWER, "approvals.decide", SETTLE, WORK_ON_TICKETS),
    "operator": (*VIEWER, *OPERATOR, SETTLE, WORK_ON_TICKETS),
}
MOST_NAMED = 20


def find_role(name: str) -> Group:
    """Return the group of a role, any group there is. Raises `BadInput` that names those there are."""
    group = Group.objects.filter(name=name.replace("\x00", "")).first()
    if group is None:
        names = Group.objects.order_by("name").values_list("name", flat=True)[:MOST_NAMED]
        raise BadInput(
            f"there is no role {name[:80]!r}; there are: {', '.join([*names, ADMINISTRATOR])}"
        )
    return group


def make_roles(using: str, **_signal: Any) -> None:
    """Make each role that there is not; called once `migrate` is done.

    A permission is a row that Django makes for one room after the other, so those of the rooms above are made here.
    """
    wanted = set(PERMISSIONS) - set(_names(using))
    if not wanted:
        return
    for label in sorted(
        {name.partition(".")[0] for names in PERMISSIONS.values() for name in names}
    ):
        create_permissions(apps.get_app_config(label), verbosity=0, using=using)
    rows = {
        f"{row.content_type.app_label}.{row.codename}": row
        for row in Permission.objects.using(using).select_related("content_type")
    }
    for name in sorted(wanted):
        group, is_new = Group.objects.using(using).get_or_create(name=name)
        if is_new:
            group.permissions.set([rows[permission] for permission in PERMISSIONS[name]])


def _names(using: str) -> Iterator[str]:
    roles = Group.objects.using(using).filter(name__in=PERMISSIONS)
    yield from roles.values_list("name", flat=True)
