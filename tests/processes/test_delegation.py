"""Work handed down between real processes, over real tool servers: killed in the middle, each write is there once."""

from __future__ import annotations

import signal
from pathlib import Path
from uuid import UUID

import pytest
import yaml

from tests.processes.place import Place
from tests.processes.test_outages import TAKES_NOTHING, assert_kept
from tests.trials.watch import Row

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180)]

LEAD = "triage-lead"
EFFECT_MS, ANSWER_MS = 300, 6_000
# Time enough to let another process take what is handed down.
HANDS_OVER_SECONDS = 0.6
CHILDREN = "SELECT id, agent_key, losses, attempt, status, loop FROM runs_run WHERE parent_id = %s ORDER BY created_at"
KEYS = "SELECT step_key, fate, settlement FROM runs_call WHERE run_id = %s ORDER BY step"
OPEN = "SELECT count(*)::int AS n FROM runs_run WHERE correlation_id = %s AND ended_at IS NULL"
TOLD = "SELECT count(*)::int AS n FROM audit_auditrow WHERE action = 'agent.run.crash_resumed' AND run_id = %s"


def script_of_lead(place: Place, *, delay: float = 0.05) -> None:
    """Two agents, one after the other, and a look between them; its model takes `delay` seconds to hand work down."""
    handed = [
        {"delay": delay, "text": "You do it.", "calls": [{"tool": f"agents/{key}", "args": {"task": "File two things."}}]}
        for key in ("triage-keyed", "triage-readable")
    ]  # fmt: skip
    look = {"delay": 0.05, "text": "I look.", "calls": [{"tool": "incident/list_incidents"}]}
    told = {"text": "The first: {{ results.0 }} The second: {{ results.2 }}"}
    path = Path(place.stage.env["LIYAGENT_SCRIPTS_DIR"], f"{LEAD}.yaml")
    path.write_text(yaml.safe_dump({"steps": [handed[0], look, handed[1], told]}))


def children(place: Place, root: UUID) -> list[Row]:
    return place.watch.rows(CHILDREN, [root])


def wait_for_child(place: Place, root: UUID, agent: str) -> UUID:
    """Return the child of this agent once it is there."""

    def found() -> list[UUID]:
        return [it["id"] for it in children(place, root) if it["agent_key"] == agent]

    place.until(lambda: bool(found()), f"the child {agent}")
    (child,) = found()
    return child


def let_take(place: Place, *names: str) -> None:
    """Let these processes take runs, and no other."""
    for name in ("A", "B"):
        place.watch.rows(TAKES_NOTHING, [name not in names, place.holders(name)])


def is_whole(place: Place, root: UUID) -> None:
    """Two children, each asked once and answered; all effects once; the chain of all three verifies."""
    told = children(place, root)
    assert [(it["agent_key"], it["status"]) for it in told] == [
        ("triage-keyed", "answered"),
        ("triage-readable", "answered"),
    ]
    keys = place.watch.rows(KEYS, [root])
    assert [it["step_key"] for it in keys] == [it["loop"] for it in told]
    assert {(it["fate"], it["settlement"]) for it in keys} == {("done", "asked_by_delegation_key")}
    assert place.one(OPEN, root) == 0
    runs = [root, *(it["id"] for it in told)]
    assert_kept(place.judged(runs[1:]))
    place.check_chains(runs)


@pytest.mark.promise("CR-01")
@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("killed", ["A", "B", "AB"], ids=["the parent's", "the child's", "both"])
def test_a_killed_process_costs_the_run_that_it_carries_a_loss_and_no_other(
    place: Place, killed: str
) -> None:
    """A put the parent to sleep; B carries its child, which is in the middle of its first write."""
    script_of_lead(place, delay=HANDS_OVER_SECONDS)
    place.stage.vendors.set_pace("incident", before_ms=EFFECT_MS, after_ms=1_200)
    let_take(place, "A")
    (root,) = place.start_runs(LEAD, at="A")
    place.until(lambda: place.heads([root])[0]["attempt"] == 1, "A's take")
    # Before the child is there: nobody but B takes it.
    let_take(place, "B")
    child = wait_for_child(place, root, "triage-keyed")
    place.wait_for_requests("incident", [child])
    of_root, of_child = place.heads([root])[0], place.heads([child])[0]
    assert (of_root["status"], of_root["holder"]) == ("waiting", None)
    assert of_child["holder"] in place.holders("B")
    for name in killed:
        place.stage.signal(name, signal.SIGKILL)
    if killed == "B":
        let_take(place, "A")
    place.stage.set_pace(0)
    if killed == "AB":
        for name in killed:
            place.stage.wait_gone(name)
        place.stage.start("A")
        place.stage.wait_ready("A")
    place.wait_for_ends([root], seconds=40)
    losses = {it["agent_key"]: it["losses"] for it in children(place, root)}
    assert losses == {"triage-keyed": int("B" in killed), "triage-readable": 0}
    (of_root,) = place.heads([root])
    assert (of_root["status"], of_root["losses"]) == ("answered", 0)
    assert place.one(TOLD, child) == int("B" in killed)
    is_whole(place, root)


@pytest.mark.promise("CR-01")
@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_a_child_whose_write_can_be_read_back_is_taken_over_in_the_middle_of_it(
    place: Place,
) -> None:
    """A carries them all until then: the second child's write has taken effect and is not answered."""
    script_of_lead(place)
    place.stage.vendors.set_pace("incident", before_ms=EFFECT_MS, after_ms=700)
    place.stage.vendors.set_pace("jira", before_ms=EFFECT_MS, after_ms=ANSWER_MS)
    let_take(place, "A")
    (root,) = place.start_runs(LEAD, at="A")
    second = wait_for_child(place, root, "triage-readable")
    place.wait_for_requests("jira", [second])
    place.stage.signal("A", signal.SIGKILL)
    let_take(place, "B")
    place.stage.set_pace(0)
    place.wait_for_ends([root])
    losses = {it["agent_key"]: it["losses"] for it in children(place, root)}
    assert losses == {"triage-keyed": 0, "triage-readable": 1}
    (of_root,) = place.heads([root])
    assert (of_root["status"], of_root["losses"]) == ("answered", 0)
    assert place.one(TOLD, second) == 1
    is_whole(place, root)


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_both_processes_killed_one_after_the_other_leave_one_child_each_and_its_writes_once(
    place: Place,
) -> None:
    """The first child dies with A, is carried on by B, and dies with it too; A's next life ends it all."""
    script_of_lead(place)
    place.stage.vendors.set_pace("incident", before_ms=EFFECT_MS, after_ms=1_200)
    let_take(place, "A")
    (root,) = place.start_runs(LEAD, at="A")
    child = wait_for_child(place, root, "triage-keyed")
    place.wait_for_requests("incident", [child])
    place.stage.signal("A", signal.SIGKILL)
    let_take(place, "B")
    place.until(lambda: children(place, root)[0]["attempt"] == 2, "B's take")
    place.stage.signal("B", signal.SIGKILL)
    place.stage.set_pace(0)
    place.stage.start("A")
    place.stage.wait_ready("A")
    place.wait_for_ends([root], seconds=40)
    told = children(place, root)
    assert told[0]["losses"] == 2
    is_whole(place, root)
