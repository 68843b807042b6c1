"""Each page of the console answers, in few statements, to those alone who may see it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.access.keys import create_key
from liyagent.access.models import ApiKey
from liyagent.agents.models import Agent
from liyagent.gateway.models import DataPolicy, Policy, Tool, ToolServer
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user

PAGES = {
    "": "",
    "runs/run/": "runs.view_run",
    "approvals/approval/": "approvals.view_approval",
    "tickets/ticket/": "tickets.view_ticket",
    "missions/mission/": "runs.view_run",
    "sagas/saga/": "runs.view_run",
    "handoffs/version/": "runs.view_run",
    "replays/cohortreplay/": "agents.operate",
    "runs/call/": "runs.view_call",
    "agents/agent/": "agents.view_agent",
    "gateway/toolserver/": "gateway.view_toolserver",
    "gateway/tool/": "gateway.view_tool",
    "gateway/policy/": "gateway.view_policy",
    "gateway/datapolicy/": "gateway.view_datapolicy",
    "audit/auditrow/": "audit.view_auditrow",
    "audit/concern/": "audit.view_concern",
    "events/": "events.view_runevent",
    "auth/user/": "auth.view_user",
    "auth/group/": "auth.view_group",
    "access/apikey/": "access.view_apikey",
    "leases/holder/": "leases.view_holder",
    "leases/lease/": "leases.view_lease",
}


@pytest.fixture
def furnished(agent: Agent) -> dict[str, Any]:
    """One row of each kind that has a page of its own, by its list."""
    create_key(name="ci", username=User.objects.create_superuser("root").username)
    server = ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    return {
        "agents/agent/": agent.pk,
        "gateway/toolserver/": server.pk,
        "gateway/tool/": Tool.objects.create(server=server, name="create_issue").pk,
        "gateway/policy/": Policy.objects.create(name="p", version=1, text="").pk,
        "gateway/datapolicy/": DataPolicy.objects.create(name="cards", kind="card").pk,
        "auth/user/": User.objects.get().pk,
        "access/apikey/": ApiKey.objects.get().pk,
    }


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("page", PAGES)
def test_a_page_answers_an_administrator(furnished: dict[str, Any], page: str) -> None:
    client = client_of(User.objects.get(username="root"))
    assert client.get(f"/admin/{page}").status_code == 200
    if page in furnished:
        assert client.get(f"/admin/{page}{furnished[page]}/change/").status_code == 200


@pytest.mark.parametrize("page", [it for it in PAGES if it])
def test_a_page_answers_who_may_see_it_and_nobody_else(fresh_db: FreshDatabase, page: str) -> None:
    seeing = make_user("vera", PAGES[page])
    User.objects.update(is_staff=True)
    assert client_of(seeing).get(f"/admin/{page}").status_code == 200
    stranger = User.objects.create_user("stan", is_staff=True)
    assert client_of(stranger).get(f"/admin/{page}").status_code == 403
    assert Client().get(f"/admin/{page}").status_code == 302


def test_the_dashboard_takes_few_statements(furnished: dict[str, Any]) -> None:
    client = client_of(User.objects.get(username="root"))
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/admin/").status_code == 200
    assert len(queries) <= 15, [it["sql"][:100] for it in queries]
