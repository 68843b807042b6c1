"""An approved call in doubt is sent again only on the authority that it was approved on (rulings 9, 23)."""

from __future__ import annotations

import pytest

from runs.models import Run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import approve, the_request
from tests.unit.approvals.test_dispatch import OTHER_TEXT, SERVICE, STANDING
from tests.unit.runs.carrying.conftest import Process, World, calls, says
from tests.unit.runs.carrying.test_masked_calls import ASKED, DENY, MASK
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

NOT_SENT_AGAIN = {
    "other policies": OTHER_TEXT,
    "another principal": SERVICE,
    "other patterns": "UPDATE agents_agent SET tool_patterns = '[\"*\"]'",
    "another gate": "UPDATE gateway_tool SET fingerprint = 'new', approved_fingerprint = 'old'",
    "the decider's standing": STANDING,
    "writes are refused": "UPDATE agents_agent SET write_posture = 'refuse'",
    "denied": DENY,
}
SENT_AGAIN = {
    "nothing": "SELECT 1",
    "something else": "UPDATE agents_agent SET name = 'Another name'",
    "a mask": MASK,
    "let through": "UPDATE agents_agent SET write_posture = 'allow'",
    "expired since": "UPDATE approvals_approval SET expires_at = liyagent_now()",
    "may not wait": "UPDATE agents_agent SET may_wait = false",
}


def dead_in_its_call(held: World) -> tuple[Run, Process]:
    """The approved call of a keyed tool took effect, and its process died before it heard of it."""
    run = held.start(calls(("v/keyed", ASKED)), says("done"))
    held.process("first").carry()
    approve(the_request())
    second = held.process("second")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        second.carry()
    return run, second


@pytest.mark.promise("CR-20")
@pytest.mark.parametrize("change", NOT_SENT_AGAIN.values(), ids=NOT_SENT_AGAIN)
def test_what_it_was_approved_on_has_changed_so_it_is_not_sent_again(
    held: World, change: str
) -> None:
    run, dead = dead_in_its_call(held)
    held.sql(change)
    held.prove_dead(dead)
    assert held.process("third").carry().status == "answered"
    assert (held.vendor.received, held.call(run, 1).fate) == (["keyed"], "unknown")


@pytest.mark.promise("CR-20")
@pytest.mark.promise("CR-29")
@pytest.mark.parametrize("change", SENT_AGAIN.values(), ids=SENT_AGAIN)
def test_what_it_was_approved_on_stands_so_the_same_bytes_go_with_the_same_key(
    held: World, change: str
) -> None:
    run, dead = dead_in_its_call(held)
    held.sql(change)
    held.prove_dead(dead)
    assert held.process("third").carry().status == "answered"
    assert (held.vendor.received, len(held.vendor.rows)) == (["keyed", "keyed"], 1)
    assert held.vendor.rows[0]["to"] == ASKED["to"]
    assert held.call(run, 1).settlement == "sent_with_same_key"


@pytest.mark.parametrize(
    ("change", "received"),
    [(SENT_AGAIN["something else"], 2), (NOT_SENT_AGAIN["other policies"], 1)],
)
def test_a_change_after_the_resume_has_judged_is_heeded_at_the_mark(
    held: World, cut: Cut, change: str, received: int
) -> None:
    _, dead = dead_in_its_call(held)
    held.prove_dead(dead)
    cut("liyagent_flush", is_after=False, act=lambda: held.sql(change))
    assert held.process("third").carry().status == "answered"
    assert held.vendor.received == ["keyed"] * received


def test_a_window_that_changed_since_it_was_filed_is_that_of_the_reservation(held: World) -> None:
    """Column and seal say the same, so a death after it breaks no checkpoint."""
    held.start(calls(("v/keyed", ASKED)), says("done"))
    held.process("first").carry()
    approve(the_request())
    held.sql("UPDATE gateway_tool SET key_window_seconds = 600 WHERE name = 'keyed'")
    second = held.process("second")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        second.carry()
    held.prove_dead(second)
    assert held.process("third").carry().status == "answered"
    assert len(held.vendor.rows) == 1


def test_what_was_approved_beside_an_unknown_write_of_the_same_intent_is_sent_again(
    held: World, cut: Cut
) -> None:
    """A person approved it knowing of that one (ruling 8); its own key is deduped as any."""
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    run = held.start(
        calls(("v/keyed", {"n": 1}), ids=["toolu_a1b2c3d4e5"]),
        calls(("v/keyed", {"n": 1}), ids=["toolu_f6g7h8i9j0"]),
        says("done"),
    )
    unknown = "UPDATE runs_call SET fate = 'unknown'"
    cut("liyagent_settle", is_after=True, act=lambda: held.sql(unknown))
    assert held.process("first").carry().status == "waiting"
    assert approve(the_request()).gate == "same_intent"
    second = held.process("second")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        second.carry()
    held.prove_dead(second)
    assert held.process("third").carry().status == "answered"
    assert (held.vendor.received, len(held.vendor.rows)) == (["keyed"] * 3, 2)
    assert held.call(run, 2).settlement == "sent_with_same_key"
