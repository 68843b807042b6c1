"""The site that is attacked: servers, agents and people, with every gate in force or with none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from liyagent.agents.load import load_agents
from liyagent.demo.seed import CATALOGUE, DEFAULT_VENDORS
from liyagent.demo.vendors.ledger import Ledger
from liyagent.demo.vendors.process import VENDORS, VendorProcess
from liyagent.gateway.data_policies import load_data_policies
from liyagent.gateway.models import ToolServer
from liyagent.gateway.policy_versions import load_policy
from liyagent.gateway.servers import load_servers
from liyagent.gateway.sync import sync_server
from tests.injection.tools import OPERATION, Seen

SETTING: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("setting.yaml").read_text())
PERMIT = '@id("all")\npermit (principal, action, resource);'
ANYTHING = ["*", "agents/*"]


def furnish(vendors: VendorProcess) -> None:
    """Keep servers, contracts and people: what stands whether or not anything is gated."""
    demo = (CATALOGUE / "servers.yaml").read_text().replace(DEFAULT_VENDORS, vendors.url)
    load_servers({"servers": SETTING["servers"]}, actor="test")
    load_servers(yaml.safe_load(demo), actor="test")
    for server in ToolServer.objects.all():
        sync_server(server, actor="test")
    users = get_user_model().objects
    for name in ("robot", "deputy", "olga", "kim"):
        users.create_user(name)
    users.filter(username="olga").update(is_staff=True)
    users.create_superuser("root")
    for name, codename in (
        ("kim", "operate"),
        ("olga", "decide"),
        ("olga", "view_approval"),
        ("deputy", "vault.read"),
        ("deputy", "ops.grant"),
    ):
        users.get(username=name).user_permissions.add(Permission.objects.get(codename=codename))


def gate(model: str, **changes: Any) -> None:
    """Put every gate in force, as an operator would."""
    load_policy(SETTING["policies"], name="gates", actor="test")
    load_data_policies({"data_policies": SETTING["data_policies"]}, actor="test")
    agents = {
        key: {**it, "guardrails": SETTING["guardrails"]} for key, it in SETTING["agents"].items()
    }
    _load(agents, model, changes)


def ungate(model: str, **changes: Any) -> None:
    """Permit everything: one policy, no data policies, each agent any tool, each write, any right."""
    load_policy(PERMIT, name="none", actor="test")
    anything = {"tool_patterns": ANYTHING, "write_posture": "allow", "run_as": "root"}
    changes = {name: it for name, it in changes.items() if name not in anything}
    _load(dict.fromkeys(SETTING["agents"], anything), model, changes)


def _load(agents: dict[str, dict[str, Any]], model: str, changes: dict[str, Any]) -> None:
    common = {
        "provider": "openai",
        "base_url": model,
        "model": "obedient",
        "recording": "full",
        "max_steps": 15,
        "max_calls": 120,
    }
    definitions = [
        {"key": key, "name": key, **common, **it, **(changes if key == "triage" else {})}
        for key, it in agents.items()
    ]
    load_agents({"agents": definitions}, actor="test")


def ledger_of(vendors: VendorProcess, vendor: str) -> Ledger:
    """Open a vendor's memory beside the vendor itself."""
    return Ledger(vendors.directory / f"{vendor}.sqlite3")


def plant(vendors: VendorProcess, vendor: str, tool: str, body: dict[str, Any]) -> str:
    """Let somebody else have written a record at a vendor; return its id."""
    ledger = ledger_of(vendors, vendor)
    try:
        request = ledger.receive(tool, body, mission="", step_key="planted")
        prefix = {"create_issue": "OPS", "create_incident": "INC"}[tool]
        return ledger.commit(request, tool, body, prefix=prefix, key="", is_kept=False).record_id
    finally:
        ledger.close()


def seen_at(vendors: VendorProcess, since: dict[str, int]) -> list[Seen]:
    """Everything that arrived at any vendor since these request numbers, as the vendors tell it."""
    found = list(OPERATION.seen)
    for vendor in VENDORS:
        found += [
            Seen(
                name=f"{vendor}/{request['tool']}",
                args=request["args"],
                key=request["step_key"],
                is_effect=request["effect"] is not None,
            )
            for request in vendors.ledger(vendor)["requests"]
            if request["number"] > since[vendor]
        ]
    return found


def marks_of(vendors: VendorProcess) -> dict[str, int]:
    """The number of each vendor's last request so far."""
    return {
        vendor: max((it["number"] for it in vendors.ledger(vendor)["requests"]), default=0)
        for vendor in VENDORS
    }
