"""What was approved is checked again before it leaves: what changed is not sent, and is asked anew once (ruling 23)."""

from __future__ import annotations

import pytest

from liyagent.approvals.models import Approval
from liyagent.approvals.words import arguments_of
from runs.models import Run
from tests.unit.approvals.deciding import approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_masked_calls import ASKED, DENY, MASK

OTHER_TEXT = "UPDATE gateway_policy SET text = text || ' // reviewed'"
OTHER_POLICY = """
    UPDATE gateway_policy SET text = replace(text, '@id("all")', '@id("another")')
"""
STANDING = "UPDATE auth_user SET is_active = false WHERE username = 'olga'"
SERVICE = """
    INSERT INTO auth_user (username, password, is_active, is_superuser, is_staff, first_name, last_name, email, date_joined)
        VALUES ('service', '', true, false, false, '', '', '', liyagent_now());
    UPDATE agents_agent SET run_as = 'service'
"""
# What changes between the decision and the call, and what is said to have changed.
STALE = {
    "a data policy masks its arguments": (MASK, "the arguments"),
    "other policies": (OTHER_POLICY, "the policies, what it may use at most"),
    "the policies' text": (OTHER_TEXT, "the policies"),
    "whom it runs as": (SERVICE, "whom it runs as"),
    "the pattern that lets it in": (
        "UPDATE agents_agent SET tool_patterns = '[\"*\"]'",
        "what it may use at most",
    ),
    "another gate holds it": (
        "UPDATE gateway_tool SET fingerprint = 'new', approved_fingerprint = 'old'",
        "why it is held",
    ),
    "the key's place": (
        "UPDATE gateway_tool SET key_place = 'argument', key_field = 'client_key' WHERE name = 'keyed'",
        "the arguments",
    ),
    "the decider is no active user": (STANDING, "olga, who approved it, may no longer decide"),
    "the decider has lost the right": (
        "DELETE FROM auth_user_user_permissions",
        "olga, who approved it, may no longer decide",
    ),
    "the decider is gone": (
        "DELETE FROM auth_user_user_permissions; DELETE FROM auth_user WHERE username = 'olga'",
        "olga, who approved it, may no longer decide",
    ),
    "its time has passed": (
        "UPDATE approvals_approval SET expires_at = liyagent_now()",
        "was to be made before",
    ),
}
LET_KIM = """
    INSERT INTO auth_user_user_permissions (user_id, permission_id) SELECT u.id, p.id FROM auth_user u, auth_permission p
        WHERE u.username = 'kim' AND p.codename = 'decide' ON CONFLICT DO NOTHING
"""
REFUSED = {
    "a data policy denies it": (DENY, "mail lets no email go"),
    "no policy permits it": ("UPDATE gateway_policy SET is_active = false", "polic"),
    "writes are refused": ("UPDATE agents_agent SET write_posture = 'refuse'", "write posture"),
    "the tool was withdrawn": ("UPDATE gateway_tool SET is_offered = false", "no tool v/keyed"),
    "the allow list": ("UPDATE agents_agent SET tool_patterns = '[\"v/look\"]'", "v/keyed"),
}
ENDS = {
    "contained": ("UPDATE agents_agent SET is_contained = true", "failed"),
    "switched off": ("UPDATE agents_agent SET is_enabled = false", "failed"),
    "removed": ("DELETE FROM agents_agent", "failed"),
    "channel closed": ("UPDATE agents_agent SET channels = '[\"cli\"]'", "failed"),
    "stopped": (
        "UPDATE runs_run SET stop_requested = true, stopped_by = 'op'",
        "stopped",
    ),
}


def approved(held: World) -> tuple[Run, Approval]:
    """A run whose held call has just been approved."""
    run = held.start(calls(("v/keyed", ASKED)), says("done"))
    held.process("first").carry()
    return run, approve(the_request())


@pytest.mark.promise("CR-14")
@pytest.mark.field("FL-57")
@pytest.mark.parametrize(("change", "why"), STALE.values(), ids=STALE)
def test_what_is_no_longer_as_it_was_approved_is_not_sent_and_is_asked_anew_once(
    held: World, change: str, why: str
) -> None:
    run, old = approved(held)
    held.sql(change)
    assert held.process("second").carry().status == "waiting"
    assert held.vendor.received == []
    old.refresh_from_db()
    assert old.status == "stale"
    assert why in old.settled_reason
    new = the_request(status="pending")
    assert (new.replaces, new.run_id, new.run_waits) == (old.id, run.id, True)
    assert new.held_reason
    held.sql(LET_KIM)
    approve(new, by="kim")
    assert held.process("third").carry().status == "answered"
    assert (held.vendor.received, Approval.objects.count()) == (["keyed"], 2)


@pytest.mark.promise("CR-14")
@pytest.mark.field("FL-57")
def test_a_permission_that_its_tool_names_since_is_more_than_was_approved(held: World) -> None:
    """Whom it runs as holds that one, too: no gate refuses it, and what it may use is another."""
    held.sql(SERVICE)
    held.sql("UPDATE auth_user SET is_superuser = true WHERE username = 'service'")
    _, old = approved(held)
    held.sql("UPDATE gateway_tool SET permission = 'approvals.decide' WHERE name = 'keyed'")
    assert held.process("second").carry().status == "waiting"
    old.refresh_from_db()
    assert (old.status, held.vendor.received) == ("stale", [])
    assert old.settled_reason == "changed since it was approved: what it may use at most"


@pytest.mark.promise("CR-14")
@pytest.mark.parametrize(("change", "said"), REFUSED.values(), ids=REFUSED)
def test_an_approved_call_that_a_gate_refuses_now_is_told_and_never_made(
    held: World, change: str, said: str
) -> None:
    run, approval = approved(held)
    held.sql(change)
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == []
    approval.refresh_from_db()
    assert (approval.status, held.call(run, 1).fate) == ("stale", "refused")
    assert said in approval.settled_reason
    assert said in held.model.results()[0]


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize(("change", "status"), ENDS.values(), ids=ENDS)
def test_an_approved_call_of_a_run_that_may_not_go_on_is_never_made(
    held: World, change: str, status: str
) -> None:
    run, approval = approved(held)
    held.sql(change)
    ended = held.process("second").carry()
    assert (ended.status, held.vendor.received) == (status, [])
    approval.refresh_from_db()
    assert (approval.status, approval.settled_reason) == (
        "stale",
        "the run ended before it was made",
    )
    assert held.call(run, 1).fate == "held"


@pytest.mark.field("FL-57")
def test_the_same_arguments_in_another_order_are_the_same_call(held: World) -> None:
    """What is stored of the model's step is read back from JSON; its order and its spaces are nobody's word."""
    asked = {"b": {"y": 1, "x": [1.0, "ä"]}, "a": None}
    run = held.start(calls(("v/keyed", asked)), says("done"))
    held.process("first").carry()
    approval = the_request()
    held.sql(
        "INSERT INTO gateway_datapolicy (name, kind, regex, path, tools, action, is_enabled, created_by)"
        " VALUES ('mail', 'email', '', '*', '*', 'mask', true, '')"
    )
    approve(approval)
    assert held.process("second").carry().status == "answered"
    (row,) = held.vendor.rows
    assert {name: row[name] for name in asked} == asked
    assert held.call(run, 1).fate == "done"


@pytest.mark.field("FL-57")
def test_what_is_shown_is_what_is_sent_whatever_a_schema_s_defaults_say(held: World) -> None:
    """A default that the vendor fills in is the vendor's own matter."""
    schema = (
        '{"type": "object", "properties": {"n": {"type": "integer"}, "loud": {"default": true}}}'
    )
    held.sql("UPDATE gateway_tool SET schema = %s WHERE name = 'keyed'", schema)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    shown = arguments_of(approve(the_request()))
    held.process("second").carry()
    (row,) = held.vendor.rows
    sent = {name: value for name, value in row.items() if name not in {"id", "tool", "key"}}
    assert sent == shown == {"n": 1}


def test_an_approved_call_is_made_where_the_gates_let_it_through_by_now(held: World) -> None:
    run, approval = approved(held)
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    assert held.process("second").carry().status == "answered"
    assert (held.call(run, 1).approval_id, held.vendor.received) == (approval.id, ["keyed"])


def test_what_changed_is_asked_anew_also_where_the_gates_let_it_through_by_now(
    held: World,
) -> None:
    approved(held)
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    held.sql(OTHER_TEXT)
    assert held.process("second").carry().status == "waiting"
    new = the_request(status="pending")
    assert (new.gate, held.vendor.received) == ("write_posture", [])
    assert "the policies" in new.held_reason


def test_a_request_that_names_another_call_s_place_breaks_the_checkpoint(held: World) -> None:
    run, approval = approved(held)
    held.sql("UPDATE approvals_approval SET index = 1")
    ended = held.process("second").carry()
    assert (ended.status, ended.error) == ("failed", "checkpoint.broken")
    assert held.vendor.received == []
    approval.refresh_from_db()
    assert (approval.status, held.call(run, 1).fate) == ("stale", "held")


def test_a_request_whose_digest_was_edited_is_not_what_was_decided(held: World) -> None:
    _, approval = approved(held)
    held.sql("UPDATE approvals_approval SET digest = repeat('0', 64)")
    assert held.process("second").carry().status == "waiting"
    approval.refresh_from_db()
    assert approval.settled_reason == "changed since it was approved: what was shown"
    assert held.vendor.received == []
