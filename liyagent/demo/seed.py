"""What a fresh installation can be tried with. Each verb changes nothing where its work is done already."""

from __future__ import annotations

import contextlib
from functools import reduce
from io import StringIO
from operator import or_
from pathlib import Path
from typing import Any

import yaml
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db.models import Q

from liyagent.agents.load import load_agents
from liyagent.agents.models import Agent
from liyagent.core.canonical import digest
from liyagent.demo.desk import start_desk
from liyagent.gateway.approve import approve_tool
from liyagent.gateway.declare import ServerDeclaration, read_declarations
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.gateway.policy_versions import load_policy
from liyagent.gateway.servers import load_servers
from liyagent.workflows.save import save_all
from liyagent.workflows.start import start_workflow
from runs.start import start_run

CATALOGUE = Path(__file__).parent / "catalogue"
DEFAULT_VENDORS = "http://127.0.0.1:8090"
ADMIN = "admin"
ACTOR = "seed"
POLICY = "demo"
START_KEY = "liyagent-demo-seed"
TASKS = {
    "triage-keyed": "Disk usage of /var on web-17 is at 91%. Find out why and bring it below 50%.",
    "triage-readable": "Disk usage of /var on web-17 is at 91%. File what has to be done.",
    "triage-blind": "Disk usage of /var on web-17 is at 91%. File the changes that the fix needs.",
    "triage-lead": "Disk usage of /var on web-17 is at 91%. See to it that it is dealt with, now and for good.",
    "triage-mixed": "Checkout takes longer than 2 s in eu-1 since 14:05. Find the cause and tell everybody.",
    "triage-undo": "Checkout is down in eu-1. File issue and change, and page whoever of payments is on call.",
}
# Of payments nobody is on call: the run fails, and what it did is undone.
WORKFLOW = "incident"
INPUT = {"title": "Checkout is down in eu-1", "team": "payments"}


def make_admin(password: str) -> bool:
    """Make the superuser `admin`, or give it this password; without one, a new admin cannot log in.

    Returns whether anything changed.
    """
    users = get_user_model().objects
    admin = users.filter(username=ADMIN).first()
    if admin is None:
        users.create_superuser(ADMIN, password=password or None)
        return True
    if not password or admin.check_password(password):
        return False
    admin.set_password(password)
    admin.save(update_fields=["password"])
    return True


def keep_servers(vendors: str) -> bool:
    """Declare the demo vendors at the address `vendors`; returns whether anything changed."""
    document = _read("servers.yaml")
    for server in document["servers"]:
        server["url"] = server["url"].replace(DEFAULT_VENDORS, vendors.rstrip("/"))
    if all(_is_kept(declared) for declared in read_declarations(document)):
        return False
    load_servers(document, actor=ACTOR)
    return True


def keep_agents() -> None:
    """Declare the demo agents; an agent that is as declared keeps its version.

    The one of the alert desk is declared once: its model is what is tried on it, and stays as it was changed to.
    """
    load_agents(_read("agents.yaml"), actor=ACTOR)
    desk = _read("desk.yaml")
    if not Agent.objects.filter(key__in=[it["key"] for it in desk["agents"]]).exists():
        load_agents(desk, actor=ACTOR)


def keep_undone() -> None:
    """Declare what is undone where it fails: an agent with a map of undos, and a workflow of its.

    The catalogues have to be read: undos are looked up there. A tool that the demo learned since is approved.
    """
    declared = [
        Q(server__key=server["key"], name__in=list(server["tools"]))
        for server in _read("servers.yaml")["servers"]
    ]
    for tool in Tool.objects.filter(reduce(or_, declared), approved_fingerprint=""):
        approve_tool(tool, actor=ACTOR)
    load_agents(_read("undone.yaml"), actor=ACTOR)
    save_all(_read("workflows.yaml")["workflows"], actor=ACTOR)


def keep_policy() -> bool:
    """Put the demo's policy into force where there is none or an older one of a seed.

    What a person put into force stays, also a version of the demo's set that `policies permit` added to.
    Returns whether anything changed.
    """
    if Policy.objects.filter(is_active=True).exclude(name=POLICY, created_by=ACTOR).exists():
        return False
    before = Policy.objects.count()
    load_policy((CATALOGUE / "policies.cedar").read_text(), name=POLICY, actor=ACTOR)
    return Policy.objects.count() > before


def read_catalogues() -> list[str]:
    """Read what those demo vendors offer that were never read since; returns the servers that did not answer."""
    keys = [server["key"] for server in _read("servers.yaml")["servers"]]
    unread = (
        ToolServer.objects.filter(key__in=keys)
        .filter(Q(catalogue_read_at=None) | Q(tools__fingerprint=""))
        .distinct()
    )
    for key in unread.values_list("key", flat=True):
        # The command shuts the connections it opened; what went wrong is kept on the row.
        with contextlib.suppress(CatalogueUnreadable):
            call_command("servers", "sync", key, stdout=StringIO(), stderr=StringIO())
    return list(unread.values_list("key", flat=True))


def start_examples() -> int:
    """Start a run of each demo agent, one of its workflow and those of the alert desk, once for ever; returns how many are new."""
    workflow = start_workflow(
        key=WORKFLOW,
        given=INPUT,
        entry="seed",
        started_by=ADMIN,
        mission="",
        request_id="",
        start_key=f"{START_KEY}-{WORKFLOW}",
        body_digest=digest(INPUT),
    )
    started = [
        start_run(
            agent_key=agent,
            task=task,
            entry="seed",
            started_by=ADMIN,
            mission="",
            request_id="",
            start_key=START_KEY,
            body_digest=digest(task),
        )
        for agent, task in TASKS.items()
    ]
    new = sum(it.is_new for it in [*started, workflow])
    return new + start_desk(started_by=ADMIN, start_key=START_KEY)


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CATALOGUE / name).read_text())
    return document


def _is_kept(declared: ServerDeclaration) -> bool:
    server = ToolServer.objects.filter(key=declared.key).first()
    if server is None or not _has(server, declared.columns):
        return False
    tools = {tool.name: tool for tool in server.tools.all()}
    return all(
        name in tools and _has(tools[name], columns) for name, columns in declared.tools.items()
    )


def _has(row: object, columns: dict[str, Any]) -> bool:
    return all(getattr(row, name) == value for name, value in columns.items())
