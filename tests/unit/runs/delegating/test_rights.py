"""What was handed down is bound by all above it: rights, posture, containment, as they stand at its next statement."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

from liyagent.agents.containment import contain_all
from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.models import Policy, Tool
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import (
    Cast,
    carry_all,
    hands,
    take,
    the_child,
    works,
)

WRITES = "desk.write"


@pytest.fixture
def family(world: World, cast: Cast) -> Run:
    """Three deep: `triage` asks `reader`, which asks `fixer`, which writes."""
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [hands("fixer"), says("read")],
        "fixer": works("fixer"),
    }
    return world.start()


def set_agent(key: str, **facts: Any) -> None:
    Agent.objects.filter(key=key).update(**facts)


def make_user(name: str, *, may_write: bool = True) -> None:
    """A user who may operate agents, and, if so, call what writes."""
    user = get_user_model().objects.create_user(name, password="x")
    user.user_permissions.add(Permission.objects.get(codename="operate"))
    if may_write:
        content = ContentType.objects.get_for_model(Tool)
        wanted, _ = Permission.objects.get_or_create(codename=WRITES, content_type=content)
        user.user_permissions.add(wanted)


@pytest.mark.parametrize("without", ["olga", "root", "middle", "lowest"])
def test_a_call_wants_its_permission_of_everybody_above(
    world: World, cast: Cast, without: str
) -> None:
    """The starter's rights bind each agent that has none of its own."""
    Tool.objects.filter(name="keyed").update(permission=WRITES)
    for name in ("olga", "root", "middle", "lowest"):
        make_user(name, may_write=name != without)
    set_agent("triage", run_as="" if without == "olga" else "root")
    set_agent("reader", run_as="middle")
    set_agent("fixer", run_as="lowest")
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [hands("fixer"), says("read")],
        "fixer": works("fixer"),
    }
    world.start(started_by="olga")
    runs = carry_all(world)
    assert [it.status for it in runs] == ["answered"] * 3
    assert world.vendor.received == []
    assert f"{without}, whose rights this run uses, lacks the permission" in cast.told("fixer")[0]


def test_a_call_that_everybody_above_may_make_is_made(
    world: World, cast: Cast, family: Run
) -> None:
    Tool.objects.filter(name="keyed").update(permission=WRITES)
    for name in ("root", "middle", "lowest"):
        make_user(name)
    for key, name in (("triage", "root"), ("reader", "middle"), ("fixer", "lowest")):
        set_agent(key, run_as=name)
    runs = carry_all(world)
    assert [it.status for it in runs] == ["answered"] * 3
    assert world.vendor.received == ["keyed"]


def test_a_right_that_is_taken_from_one_above_is_gone_at_the_next_statement(
    world: World, cast: Cast
) -> None:
    Tool.objects.filter(name="keyed").update(permission=WRITES)
    for name in ("root", "lowest"):
        make_user(name)
    set_agent("triage", run_as="root")
    set_agent("reader", run_as="lowest")
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [calls(("v/look", {}), ("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("x")],
    }
    world.start()

    def take_it(tool: str) -> None:
        if tool == "keyed":
            get_user_model().objects.get(username="root").user_permissions.clear()

    world.vendor.after_effect = take_it
    carry_all(world)
    assert world.vendor.received == ["look", "keyed"]
    assert "root, whose rights this run uses, lacks the permission" in cast.told("reader")[2]


@pytest.mark.parametrize(
    ("above", "own", "expected"),
    [
        ("hold", "allow", "hold"),
        ("allow", "hold", "hold"),
        ("allow", "refuse", "refuse"),
        ("hold", "refuse", "refuse"),
        ("refuse", "allow", "refuse"),
        ("refuse", "hold", "refuse"),
        ("allow", "allow", "allow"),
    ],
)
def test_the_strictest_posture_of_the_chain_binds(
    world: World, cast: Cast, above: str, own: str, expected: str
) -> None:
    """Of the one above as it stands when the child calls."""
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    world.start()
    world.process("first").carry()
    set_agent("triage", write_posture=above)
    set_agent("reader", write_posture=own)
    carry_all(world)
    assert world.vendor.received == (["keyed"] if expected == "allow" else [])
    assert Approval.objects.count() == int(expected == "hold")
    if expected == "refuse":
        assert "may read but not write" in cast.told("reader")[0]


BEFALLS = {
    "contained": ("UPDATE agents_agent SET is_contained = true WHERE key = %s", "is contained"),
    "off": ("UPDATE agents_agent SET is_enabled = false WHERE key = %s", "is switched off"),
    "gone": ("DELETE FROM agents_agent WHERE key = %s", "no longer exists"),
}


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("who", ["triage", "reader"])
@pytest.mark.parametrize("what", BEFALLS)
def test_what_befalls_one_above_ends_the_work_at_its_next_statement(
    world: World, cast: Cast, who: str, what: str
) -> None:
    """While the lowest has made one of its two writes."""
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [hands("fixer"), says("read")],
        "fixer": [calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("never")],
    }
    world.start()
    change, said = BEFALLS[what]

    def befall(tool: str) -> None:
        world.sql(change, who)

    world.vendor.after_effect = befall
    runs = carry_all(world)
    lowest = next(it for it in runs if it.agent_key == "fixer")
    assert (lowest.status, lowest.error) == ("failed", f"agent.{what}")
    assert lowest.reason == f"agent {who} {said}, which handed this work down"
    assert world.vendor.received == ["keyed"]
    assert [it.status for it in runs if it.agent_key == who] == ["failed"]


def test_all_contained_ends_the_whole_family(world: World, cast: Cast, family: Run) -> None:
    for name in ("first", "second"):
        world.process(name).carry()
    contain_all(actor="op", reason="odd")
    runs = carry_all(world)
    assert [it.error for it in runs] == ["agent.contained"] * 3
    assert world.vendor.received == []


@pytest.mark.promise("CR-17")
def test_a_starter_who_may_no_longer_run_agents_ends_the_child_on_its_resume(
    world: World, cast: Cast
) -> None:
    make_user("olga")
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    parent = world.start(started_by="olga")
    world.process("first").carry()
    second = world.process("second")
    take(second, "reader")
    get_user_model().objects.update(is_active=False)
    world.prove_dead(second)
    carry_all(world)
    assert the_child(parent).error == "starter.refused"
    assert world.vendor.received == []


def test_a_way_in_that_the_child_s_agent_does_not_permit_is_its_root_s_to_permit(
    world: World, cast: Cast
) -> None:
    """At first as on a resume: work that is handed down stands within."""
    set_agent("reader", channels=["cron"])
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    world.start()
    world.process("first").carry()
    second = world.process("second")
    take(second, "reader")
    world.prove_dead(second)
    parent, child = carry_all(world)
    assert (parent.status, child.status, child.losses) == ("answered", "answered", 1)


@pytest.mark.parametrize(
    ("rule", "is_made"),
    [
        ('forbid(principal, action, resource) when { context.delegated_by.contains("triage") };', False),
        ('forbid(principal, action, resource in Server::"v") when { context.delegated_by.isEmpty() };', True),
        ('forbid(principal == Agent::"triage", action, resource in Server::"v");', True),
        ('forbid(principal == Agent::"reader", action, resource in Server::"v");', False),
    ],
)  # fmt: skip
def test_a_policy_knows_the_child_as_its_principal_and_those_above_it(
    world: World, cast: Cast, rule: str, is_made: bool
) -> None:
    text = f'@id("all") permit(principal, action, resource);\n@id("rule") {rule}'
    Policy.objects.update(text=text)
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    world.start()
    parent, _ = carry_all(world)
    assert parent.status == "answered"
    assert world.vendor.received == (["keyed"] if is_made else [])
