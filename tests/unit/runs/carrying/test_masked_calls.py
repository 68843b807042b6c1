"""Data policies and rights in a run: masked before anything is kept or sent, in force at the next statement."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.gateway.models import DataPolicy
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR, Killed, die_before_effect

MAIL = "kim@example.com"
MASK = """
    INSERT INTO gateway_datapolicy (name, kind, regex, path, tools, action, is_enabled, created_by)
        VALUES ('mail', 'email', '', '*', '*', 'mask', true, '')
"""
DENY = MASK.replace("'mask'", "'deny'")
ASKED = {"n": 1, "to": MAIL}


def told(world: World, run: Run) -> list[dict[str, Any]]:
    """The contents of the run's calls in its log."""
    return [json.loads(it.content) for it in world.events(run) if it.kind == "tool.call"]


@pytest.mark.parametrize("tool", ["look", "keyed", "readable", "blind"])
def test_a_masked_word_reaches_neither_the_vendor_nor_the_log(world: World, tool: str) -> None:
    world.sql(MASK)
    run = world.start(calls((f"v/{tool}", ASKED)), says("done"))
    assert world.process().carry().status == "answered"
    # A read leaves no row with the vendor; its bytes are what the log tells.
    assert [row["to"] for row in world.vendor.of(tool)] == ["[email]"] * (tool != "look")
    (event,) = told(world, run)
    assert "[email]" in json.dumps(event)
    assert MAIL not in json.dumps(event)
    assert event["gate"] == "data_policy"


def test_a_denied_call_is_told_without_the_word(world: World) -> None:
    world.sql(DENY)
    run = world.start(calls(("v/blind", ASKED)), says("done"))
    assert world.process().carry().status == "answered"
    assert world.vendor.received == []
    assert "mail lets no email go to v/blind" in world.model.results()[0]
    assert MAIL not in json.dumps(told(world, run))


def test_two_calls_that_are_masked_alike_are_the_same_intent(world: World) -> None:
    """The digest is of what left: an unknown write is not repeated with another's address masked away."""
    world.sql(MASK)
    VENDOR.after_effect = _lose_the_answer
    world.start(
        calls(("v/blind", {"to": MAIL})),
        calls(("v/blind", {"to": "lee@example.com"})),
        says("done"),
    )
    world.process().carry()
    assert len(world.vendor.of("blind")) == 1
    assert "unknown outcome" in world.model.results()[-1]


@pytest.mark.promise("CR-14")
def test_a_call_never_begun_is_masked_by_the_policies_of_the_resume(world: World) -> None:
    world.start(calls(("v/look", {}), ("v/blind", ASKED)), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.sql(MASK)
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.of("blind")[0]["to"] == "[email]"


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(
    ("before", "change", "kept"),
    [
        (MASK, "DELETE FROM gateway_datapolicy", "[email]"),
        ("SELECT 1", MASK, MAIL),
        (MASK, "UPDATE gateway_datapolicy SET kind = 'regex', regex = 'e'", "[email]"),
    ],
    ids=["policy removed", "policy added", "policy changed"],
)
def test_a_marked_call_is_sent_again_as_it_was_marked(
    world: World, before: str, change: str, kept: str
) -> None:
    world.sql(before)
    run = world.start(calls(("v/keyed", ASKED)), says("done"))
    first = world.process("first")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.sql(change)
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["keyed", "keyed"]
    assert world.vendor.of("keyed")[0]["to"] == kept
    assert world.call(run, 1).settlement == "sent_with_same_key"
    (event,) = told(world, run)
    assert event["args"]["to"] == kept


@pytest.mark.promise("CR-14")
def test_a_marked_call_that_is_denied_now_is_not_sent_again(world: World) -> None:
    run = world.start(calls(("v/keyed", ASKED)), says("done"))
    first = world.process("first")
    die_before_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.sql(DENY)
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"


CHANGES = {
    "data policy, masked": (MASK, ""),
    "data policy, denied": (DENY, "mail lets no email"),
    "Cedar policy": (
        "UPDATE gateway_policy SET text = '@id(\"frozen\") forbid (principal, action, resource);'",
        "frozen",
    ),
    "run-as, switched off": ("UPDATE auth_user SET is_active = false", "kim"),
    "run-as, permission taken": ("DELETE FROM auth_user_user_permissions", "jira.write"),
}


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES)
def test_a_change_acts_at_the_next_statement_of_a_living_run(
    world: World, change: str, said: str
) -> None:
    world.sql("UPDATE gateway_tool SET permission = 'jira.write' WHERE name = 'blind'")
    kim = User.objects.create_user("kim")
    kim.user_permissions.add(Permission.objects.get(codename="jira.write"))

    def in_the_first_call(_tool: str) -> None:
        VENDOR.after_effect = lambda _: None
        world.sql(change)

    VENDOR.after_effect = in_the_first_call
    world.start(calls(("v/keyed", {"n": 1}), ("v/blind", ASKED)), says("done"), started_by="kim")
    world.process().carry()
    if said:
        assert world.vendor.of("blind") == []
        assert said in world.model.results()[1]
    else:
        assert world.vendor.of("blind")[0]["to"] == "[email]"


@pytest.mark.promise("CR-14")
def test_a_right_taken_from_a_living_run_acts_on_its_next_read(world: World) -> None:
    """A read is not marked, so nothing judges it once more before it is sent."""
    world.sql("UPDATE gateway_tool SET permission = 'jira.write' WHERE name = 'look'")
    kim = User.objects.create_user("kim")
    kim.user_permissions.add(Permission.objects.get(codename="jira.write"))

    def take_it(_tool: str) -> None:
        VENDOR.after_effect = lambda _: None
        world.sql("DELETE FROM auth_user_user_permissions")

    VENDOR.after_effect = take_it
    world.start(calls(("v/keyed", {"n": 1}), ("v/look", {})), says("done"), started_by="kim")
    assert world.process().carry().status == "answered"
    assert world.vendor.received == ["keyed"]
    assert "jira.write" in world.model.results()[1]


def test_bytes_that_a_new_policy_would_mask_do_not_leave_once_they_are_marked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy comes between judging and marking."""
    from runs import hot  # noqa: PLC0415 - the module whose function is wrapped here

    mark = hot.write_mark

    def late(*args: Any, **facts: Any) -> Any:
        if not DataPolicy.objects.exists():
            world.sql(MASK)
        return mark(*args, **facts)

    monkeypatch.setattr(hot, "write_mark", late)
    world.start(
        calls(("v/blind", ASKED)), calls(("v/blind", ASKED), ids=["toolu_other"]), says("done")
    )
    world.process().carry()
    assert [row["to"] for row in world.vendor.of("blind")] == ["[email]"]
    assert "a data policy changed" in world.model.results()[0]


def test_no_gate_reads_a_table_once_its_version_is_known(world: World) -> None:
    world.sql(MASK)
    User.objects.create_user("kim")
    world.start(
        *(calls(("v/look", {"n": number}), ("v/blind", {"n": number})) for number in range(3)),
        says("done"),
        started_by="kim",
    )
    world.process().carry()
    world.start(
        *(calls(("v/look", {"n": number}), ("v/blind", {"n": number})) for number in range(20)),
        says("done"),
        started_by="kim",
    )
    process = world.process("again")
    taken = process.take()
    with CaptureQueriesContext(connection) as queries:
        process.go_on(*taken[0])
    asked = [it["sql"] for it in queries if "gateway_" in it["sql"] or "auth_" in it["sql"]]
    assert asked == []


def _lose_the_answer(_tool: str) -> None:
    VENDOR.after_effect = lambda _: None
    raise TimeoutError
