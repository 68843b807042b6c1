"""What changes behind a map is told before a run fails: in the report, the deploy check and before a server goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks

from liyagent.agents.definitions import save_agent
from liyagent.agents.models import Agent
from liyagent.core.checks import TAG
from liyagent.gateway.models import Tool
from liyagent.gateway.report import report_of
from liyagent.gateway.servers import remove_server
from tests.databases import FreshDatabase
from tests.unit.agents.undoing import AGENT, MAP, UNDO, a_catalogue

DELETE = Tool.objects.filter(name="delete_issue")


@pytest.fixture(autouse=True)
def agent(fresh_db: FreshDatabase) -> Agent:
    a_catalogue()
    return save_agent({**AGENT, "compensations": MAP}, actor="ada")


def told() -> list[str]:
    """What the report has to mend of the write, and the deploy check of maps: the same."""
    (one,) = [it for it in report_of().tools if it.tool == "jira/create_issue"]
    mend = [it for it in one.mend if it.startswith("its undo by agent triage fails: ")]
    found = checks.run_checks(tags=[TAG], include_deployment_checks=True)
    warned = [it for it in found if it.id == "liyagent.W044"]
    assert all(it.hint and "/api/agents/triage/compensations" in it.hint for it in warned)
    reasons = [it.partition(" fails: ")[2] for it in mend]
    assert [str(it.msg).partition(" fails: ")[2] for it in warned] == reasons
    return reasons


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"is_offered": False}, "tool is jira/delete_issue, which its server does not offer any more"),
        ({"effect": "read"}, "which is a read by its contract"),
        ({"schema": {"properties": {"id": {}}, "required": ["id"]}}, "args.key is no argument of jira/delete_issue, which takes id"),
        ({"name": "remove_issue"}, "there is no such tool; server jira has among others create_issue"),
    ],
)  # fmt: skip
def test_an_undo_that_would_fail_now_is_told(columns: dict[str, Any], said: str) -> None:
    assert told() == []
    DELETE.all().update(**columns)
    assert said in told()[0]


def test_agents_that_are_off_and_maps_of_a_release_to_come_are_left_out() -> None:
    DELETE.all().delete()
    assert len(told()) == 1
    Agent.objects.update(is_enabled=False)
    assert told() == []
    Agent.objects.update(is_enabled=True, compensations={"jira/create_issue": {**UNDO, "new": 1}})
    assert told() == []


def test_who_removes_a_server_is_told_whose_undos_are_made_at_it() -> None:
    Agent.objects.update(compensations={"jira/create_issue": {"tool": "mail/unsend"}})
    assert remove_server("mail", actor="ada") == ("undos of the agents triage are made at it",)
    assert remove_server("jira", actor="ada") == ()
