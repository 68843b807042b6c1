"""What the gates and the authority say by the time of a resume, of calls that were let through before (CR-14, CR-17)."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from liyagent.agents.containment import contain_all, release_all
from runs.attempt import Carrier
from runs.checkpoint import load
from runs.errors import AgentContained
from runs.loop import carry_run
from runs.models import Run
from runs.start import start_run
from tests.unit.runs.carrying.conftest import Process, World, calls, never, says
from tests.unit.runs.carrying.vendor import Killed, die_before_effect

NO_WRITES = """
    UPDATE gateway_policy SET text = '@id("all") permit (principal, action, resource);
        @id("frozen") forbid (principal, action, resource) when { context.effect == "write" };'
"""
GATES = {
    "allow-list": ("UPDATE agents_agent SET tool_patterns = '[\"v/look\"]'", "v/"),
    "policies": (NO_WRITES, "frozen"),
    "no policy": ("UPDATE gateway_policy SET is_active = false", "polic"),
    "contract change": (
        "UPDATE gateway_tool SET fingerprint = 'new', approved_fingerprint = 'old'",
        "manage.py tools approve",
    ),
    "posture, refused": ("UPDATE agents_agent SET write_posture = 'refuse'", "write"),
    "posture, held": ("UPDATE agents_agent SET write_posture = 'hold'", "held"),
    "run-as": ("UPDATE gateway_tool SET permission = 'v.write' WHERE effect = 'write'", "v.write"),
    "tool withdrawn": ("UPDATE gateway_tool SET is_offered = false", "no tool v/blind"),
    "server switched off": ("UPDATE gateway_toolserver SET is_enabled = false", "no tool v/blind"),
}
CONTAINED = {
    "contained": "UPDATE agents_agent SET is_contained = true",
    "switched off": "UPDATE agents_agent SET is_enabled = false",
    "removed": "DELETE FROM agents_agent",
}
NO_LONGER = {
    "not active": "UPDATE auth_user SET is_active = false",
    "without the permission": "DELETE FROM auth_user_user_permissions",
    "removed": "DELETE FROM auth_user_user_permissions; DELETE FROM auth_user",
}


def dies_in(world: World, tool: str) -> Process:
    """Let the process that carries the queued run die in its call of `tool`."""
    first = world.process("first")
    die_before_effect(tool)
    with pytest.raises(Killed):
        first.carry()
    return first


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(("change", "said"), GATES.values(), ids=GATES)
def test_a_write_that_was_never_begun_passes_each_gate_as_it_stands_now(
    world: World, change: str, said: str
) -> None:
    run = world.start(calls(("v/look", {}), ("v/blind", {"n": 2})), says("done"))
    first = dies_in(world, "look")
    world.sql(change)
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert "blind" not in world.vendor.received
    assert said in world.model.results()[1].lower()
    # One that is held is filed as such; any other refusal leaves no mark.
    marks = world.sql("SELECT intent, fate FROM runs_call WHERE run_id = %s", run.id)
    assert set(marks) <= {("held", "held")}
    told = [it.content for it in world.events(run) if it.kind == "tool.call"]
    assert f'"fate":"{"held" if marks else "refused"}"' in told[1]


@pytest.mark.promise("CR-14")
def test_a_read_of_a_run_that_was_handed_over_is_judged_as_it_stands_now(world: World) -> None:
    """No mark is made of it and no loss is told of: what was read with the run is all that judges it."""
    world.start(calls(("v/keyed", {"n": 1}), ("v/look", {})), says("done"))
    first = world.process("first")

    def drain(_tool: str) -> None:
        first.drains = True

    world.vendor.after_effect = drain
    assert first.carry().status == "queued"
    world.sql("UPDATE agents_agent SET tool_patterns = '[\"v/blind\"]'")
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["keyed"]
    assert "no tool v/look" in world.model.results()[1]


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize("change", [change for change, _ in GATES.values()], ids=GATES)
def test_a_keyed_write_in_doubt_is_not_sent_again_against_any_gate(
    world: World, change: str
) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = dies_in(world, "keyed")
    world.sql(change)
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"


@pytest.mark.promise("CR-17")
@pytest.mark.promise("CR-14")
@pytest.mark.parametrize("change", CONTAINED.values(), ids=CONTAINED)
@pytest.mark.parametrize("tool", ["look", "keyed", "readable"])
def test_a_run_whose_agent_may_not_run_any_more_is_not_resumed(
    world: World, tool: str, change: str
) -> None:
    world.start(calls((f"v/{tool}", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    first = dies_in(world, tool)
    world.sql(change)
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert ended.status == "failed"
    assert "agent triage" in ended.reason
    assert world.vendor.received == [tool]
    assert len(world.model.asked) == 1


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("change", NO_LONGER.values(), ids=NO_LONGER)
def test_a_run_is_resumed_only_for_who_may_still_run_agents(world: World, change: str) -> None:
    user = get_user_model().objects.create_user("kim", password="x")
    user.user_permissions.add(Permission.objects.get(codename="operate"))
    ended = []
    for changes in ([], [change]):
        world.model.steps = [calls(("v/look", {"n": 1})), says("done")]
        started = start_run(
            agent_key="triage", task="t", entry="api", started_by="kim", mission="", request_id=""
        )
        first = dies_in(world, "look")
        for statement in changes:
            world.sql(statement)
        world.prove_dead(first)
        world.process("second").carry()
        ended.append(Run.objects.get(id=started.run_id))
    assert [it.status for it in ended] == ["answered", "failed"]
    assert "kim" in ended[1].reason
    assert world.vendor.received == ["look", "look", "look"]


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("tool", ["look", "readable", "blind"])
def test_a_stop_while_nobody_carries_the_run_ends_it_before_the_next_call(
    world: World, tool: str
) -> None:
    run = world.start(calls((f"v/{tool}", {"n": 1}), ("v/keyed", {"n": 2})), says("done"))
    first = dies_in(world, tool)
    world.prove_dead(first)
    world.sql("UPDATE runs_run SET stop_requested = true, stopped_by = 'op'")
    ended = world.process("second").carry()
    assert (ended.status, ended.reason) == ("stopped", "stopped by op")
    assert world.vendor.of("keyed") == []
    assert world.vendor.received.count(tool) == 1
    assert len(world.model.asked) == 1
    assert world.sql("SELECT 1 FROM runs_call WHERE run_id = %s AND fate = ''", run.id) == []


@pytest.mark.promise("CR-17")
def test_a_run_whose_way_in_was_closed_is_not_resumed(world: World) -> None:
    world.start(calls(("v/look", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    first = dies_in(world, "look")
    world.sql("""UPDATE agents_agent SET channels = '["cli", "cron"]'""")
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert (ended.status, ended.error) == ("failed", "channel.closed")
    assert ended.reason == "agent triage no longer permits runs by api"
    assert world.vendor.received == ["look"]


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize(
    "change", ["UPDATE auth_user SET is_active = false", "DELETE FROM auth_user"]
)
def test_a_run_is_resumed_only_as_somebody_who_is_there(world: World, change: str) -> None:
    get_user_model().objects.create_superuser("service")
    world.sql("UPDATE agents_agent SET run_as = 'service'")
    ended = []
    for is_there in (True, False):
        world.start(calls(("v/look", {"n": 1})), says("done"))
        first = dies_in(world, "look")
        if not is_there:
            world.sql(change)
        world.prove_dead(first)
        ended.append(world.process("second").carry())
    assert [(it.status, it.error) for it in ended] == [
        ("answered", ""),
        ("failed", "run_as.refused"),
    ]
    assert "service, whom agent triage runs as" in ended[1].reason
    assert world.vendor.received == ["look", "look", "look"]


@pytest.mark.promise("CR-17")
@pytest.mark.promise("CR-14")
@pytest.mark.parametrize("tool", ["look", "keyed"])
def test_nothing_is_resumed_while_everything_is_contained(world: World, tool: str) -> None:
    world.start(calls((f"v/{tool}", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    first = dies_in(world, tool)
    contain_all(actor="ada", reason="keys leaked")
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert (ended.status, ended.error) == ("failed", "agent.contained")
    assert ended.reason == "agent triage is contained, as everything is"
    assert world.vendor.received == [tool]


@pytest.mark.promise("CR-14")
def test_containing_everything_acts_at_the_next_statement_of_a_run_under_way(world: World) -> None:
    def contain(tool: str) -> None:
        if tool == "keyed":
            contain_all(actor="ada", reason="keys leaked")

    world.vendor.before_effect = contain
    world.start(calls(("v/keyed", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    ended = world.process().carry()
    assert (ended.status, ended.error) == ("failed", "agent.contained")
    assert world.vendor.received == ["keyed"]
    with pytest.raises(AgentContained):
        world.start(says("done"))
    release_all(actor="ada")
    world.start(says("done"))
    assert world.process("again").carry().status == "answered"


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize("change", [*CONTAINED.values(), NO_WRITES], ids=[*CONTAINED, "policies"])
def test_a_change_after_a_resume_has_judged_forbids_its_sending_again(
    world: World, change: str
) -> None:
    """Its own record of the resume is what tells it of the change, before the mark is made again (ruling 5)."""
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = dies_in(world, "keyed")
    world.lapse(first)
    ((run_id, attempt),) = world.process("second").take()
    stored = load(run_id, attempt=attempt, give_up=never)
    world.sql(change)
    carry_run(stored, Carrier(holder="second", give_up=never, hand_over=never))
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"
