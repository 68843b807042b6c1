"""Agents as tools: who is one, by which name, and what the gates say of work that is handed down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.load import missing_sub_agents
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.agents.sub_agents import named_in
from liyagent.core.errors import BadInput
from liyagent.gateway.contracts import contracts_for, forget_contracts
from liyagent.gateway.declare import read_declarations
from liyagent.gateway.judge import judge
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Above, Asker, Call, Posture, Rights
from liyagent.gateway.permit import permit
from liyagent.gateway.policies import check_policies
from liyagent.gateway.sub_agents import sub_agent_contracts
from liyagent.gateway.try_call import try_call
from tests.databases import FreshDatabase
from tests.unit.gateway.support import ASKER, PERMIT_ALL, a_call, a_contract, policy

TASK = {"task": "look at web-17"}


@pytest.fixture
def agents(fresh_db: FreshDatabase) -> None:
    forget_contracts()
    for key in ("triage", "reader", "fixer"):
        Agent.objects.create(
            key=key, name=key.title(), provider="p", model="m", write_posture="allow"
        )


def version() -> int:
    return ConfigVersion.objects.get(pk=1).version


def handed(key: str = "reader", *, asker: Asker = ASKER, **changes: Any) -> Call:
    """Work that `asker` hands to an agent."""
    contract = replace(a_contract(), server="agents", tool=key, is_delegation=True)
    asker = replace(asker, tool_patterns=("agents/*",))
    return a_call(key, server="agents", asker=asker, contract=contract, args=TASK, **changes)


def above(key: str = "lead", posture: str = "allow", *, is_held_back: bool = False) -> Above:
    rights = Rights(principal=key, is_active=True)
    return Above(agent=key, write_posture=posture, rights=rights, is_held_back=is_held_back)


@pytest.mark.parametrize(
    ("patterns", "offered"),
    [
        (("agents/reader",), ["agents/reader"]),
        (("agents/*",), ["agents/fixer", "agents/reader", "agents/triage"]),
        (("*",), []),
        (("a*",), []),
        (("agents",), []),
        ((), []),
    ],
)
def test_agents_are_tools_for_those_whose_patterns_name_them_so(
    agents: None, patterns: tuple[str, ...], offered: list[str]
) -> None:
    assert list(contracts_for(patterns, version=version())) == offered


def test_an_agent_that_is_contained_or_off_is_no_tool(agents: None) -> None:
    Agent.objects.filter(key="reader").update(is_contained=True)
    Agent.objects.filter(key="fixer").update(is_enabled=False)
    assert list(sub_agent_contracts()) == ["agents/triage"]


@pytest.mark.parametrize(
    ("chain", "to", "said"),
    [
        ((), "triage", "agent triage is already at it: triage > triage would be a circle"),
        (("lead",), "lead", "lead > triage > lead would be a circle"),
        (("lead", "second"), "reader", "handed down 3 deep at most: lead > second > triage is that deep"),
        (("lead",), "reader", ""),
        ((), "reader", ""),
    ],
)  # fmt: skip
def test_no_circle_and_three_deep_at_most(chain: tuple[str, ...], to: str, said: str) -> None:
    verdict = judge(handed(to, asker=ASKER.bound_by([above(it) for it in chain])), PERMIT_ALL)
    assert (verdict.posture is Posture.REFUSED, verdict.gate) == (
        bool(said), "delegation" if said else "",
    )  # fmt: skip
    assert said in verdict.reason


def own_work(posture: str = "allow", *, above_it: tuple[str, ...] = ()) -> Call:
    """Work that a step of a workflow hands to the agent whose workflow it is."""
    asker = replace(ASKER, asks_itself=True, write_posture=posture)
    return handed("triage", asker=asker.bound_by([above(it) for it in above_it]))


@pytest.mark.promise("RT-03")
@pytest.mark.parametrize("posture", ["allow", "hold", "refuse"])
def test_a_step_of_a_workflow_hands_work_to_its_own_agent_whatever_becomes_of_that_s_writes(
    posture: str,
) -> None:
    """Each write of whoever is handed the work is held or refused itself."""
    assert judge(own_work(posture), PERMIT_ALL).posture is Posture.POSTURE
    held = judge(handed("reader", asker=replace(ASKER, asks_itself=True, write_posture=posture)), PERMIT_ALL)  # fmt: skip
    assert (held.posture is Posture.POSTURE) is (posture == "allow")


@pytest.mark.promise("RT-03")
def test_a_branch_hands_work_to_its_own_agent_as_deep_as_any() -> None:
    assert judge(own_work(above_it=("triage",)), PERMIT_ALL).posture is Posture.POSTURE
    deep = judge(own_work(above_it=("triage", "triage")), PERMIT_ALL)
    assert (deep.posture, deep.gate) == (Posture.REFUSED, "delegation")


@pytest.mark.promise("RT-03")
def test_own_work_wants_no_policy_that_permits_it_and_is_kept_by_one_that_forbids_it() -> None:
    reads = '@id("reads") permit(principal, action, resource) when { context.effect == "read" };'
    assert judge(own_work(), policy(reads)).posture is Posture.POSTURE
    asked = replace(ASKER, asks_itself=True)
    assert judge(handed("reader", asker=asked), policy(reads)).gate == "cedar"
    forbids = reads + '@id("no") forbid(principal, action, resource == Tool::"agents/triage");'
    refused = judge(own_work(), policy(forbids))
    assert (refused.gate, "no forbids agent triage to call agents/triage" in refused.reason) == ("cedar", True)  # fmt: skip
    assert judge(own_work(), policy("")).gate == "cedar"


@pytest.mark.promise("RT-03")
def test_own_work_of_one_that_is_contained_is_refused() -> None:
    call = own_work()
    contained = replace(call, asker=replace(call.asker, contained=True))
    assert judge(contained, PERMIT_ALL).gate == "trust"


@pytest.mark.parametrize(
    ("own", "others", "strictest"),
    [
        ("allow", ("allow",), "allow"),
        ("allow", ("allow", "hold"), "hold"),
        ("hold", ("refuse", "allow"), "refuse"),
        ("refuse", ("hold",), "refuse"),
        ("allow", ("nonsense",), "nonsense"),
    ],
)
def test_the_strictest_posture_of_all_above_binds(
    own: str, others: tuple[str, ...], strictest: str
) -> None:
    bound = replace(ASKER, write_posture=own).bound_by([above(posture=it) for it in others])
    assert bound.write_posture == strictest
    if strictest == "nonsense":
        assert judge(a_call(asker=bound), PERMIT_ALL).posture is Posture.REFUSED


def test_one_above_that_is_held_back_holds_back_all_below() -> None:
    bound = ASKER.bound_by([above(), above("second", is_held_back=True)])
    assert judge(a_call(asker=bound), PERMIT_ALL).gate == "trust"


def test_policies_speak_of_those_who_handed_the_work_down() -> None:
    text = (
        '@id("all") permit(principal, action, resource);'
        '@id("no") forbid(principal, action, resource) when { context.delegated_by.contains("lead") };'
    )
    check_policies(text)
    assert judge(a_call(), policy(text)).posture is Posture.POSTURE
    assert judge(a_call(asker=ASKER.bound_by([above()])), policy(text)).posture is Posture.REFUSED


def test_no_tool_server_may_stand_where_agents_do(agents: None) -> None:
    with pytest.raises(
        BadInput, match=r"servers\[0\].key: is 'agents'; that is where agents stand"
    ):
        read_declarations({"servers": [{"key": "agents", "transport": "local"}]})
    with pytest.raises(ValidationError, match="where agents stand as tools"):
        ToolServer(key="agents", transport="local").full_clean()


def test_a_server_of_that_name_from_before_is_nobody_s_to_call(agents: None) -> None:
    server = ToolServer.objects.create(key="agents", transport="local")
    Tool.objects.create(server=server, name="reader", effect="read")
    Tool.objects.create(server=server, name="other", effect="read")
    found = contracts_for(("agents/*",), version=version())
    assert "agents/other" not in found
    assert found["agents/reader"].is_delegation


@pytest.mark.parametrize(
    ("pattern", "resource"),
    [
        ("agents/reader", 'resource == Tool::"agents/reader"'),
        ("agents/*", 'resource in Server::"agents"'),
    ],
)
def test_an_operator_permits_work_to_be_handed_down(
    agents: None, pattern: str, resource: str
) -> None:
    assert resource in permit("triage", pattern, reads_only=False, actor="op").added


@pytest.mark.parametrize("pattern", ["agents/nobody", "agents/r*"])
def test_nobody_is_permitted_to_hand_work_to_an_agent_that_is_not_there(
    agents: None, pattern: str
) -> None:
    with pytest.raises(AgentUnknown, match="no agent"):
        permit("triage", pattern, reads_only=False, actor="op")


def test_a_trial_knows_work_handed_down_and_those_above(agents: None) -> None:
    Agent.objects.filter(key="triage").update(tool_patterns=["agents/*"])
    permit("triage", "agents/*", reads_only=False, actor="op")
    tried = try_call(agent_key="triage", tool="agents/reader", args=TASK)
    assert tried.verdict.posture is Posture.POSTURE
    tried = try_call(agent_key="triage", tool="agents/nobody", args=TASK)
    assert "there is no tool agents/nobody" in tried.verdict.reason
    tried = try_call(agent_key="triage", tool="agents/fixer", args=TASK, delegated_by=["fixer"])
    assert tried.verdict.gate == "delegation"
    Agent.objects.filter(key="fixer").update(write_posture="hold")
    tried = try_call(agent_key="triage", tool="agents/reader", args=TASK, delegated_by=["fixer"])
    assert (tried.verdict.posture, tried.verdict.gate) == (Posture.HELD, "write_posture")


def test_patterns_that_name_agents_nowhere_are_told(agents: None) -> None:
    definitions = [
        {
            "key": "lead",
            "tool_patterns": ["agents/reader", "agents/nobody", "agents/second", "v/*"],
        },
        {"key": "second", "tool_patterns": ["agents/*", "agents/r?ader"]},
    ]
    assert missing_sub_agents(definitions) == [
        "lead may hand work to agents/nobody, and there is no agent nobody"
    ]
    assert named_in(["agents/a", "agents/*", "agents", "x/agents"]) == ["a"]
