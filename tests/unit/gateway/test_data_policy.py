"""The gate of data policies: denied without the words, masked before the key, judged by Cedar as asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from liyagent.gateway import data_rules
from liyagent.gateway.call import make_call
from liyagent.gateway.data_rules import DataRule, read_path, read_regex
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Fate, MaySend, Outcome, Payload, Posture
from liyagent.gateway.policies import PolicySet
from tests.unit.gateway.support import (
    ASKER,
    PERMIT_ALL,
    RememberingScope,
    a_call,
    a_contract,
    a_read,
    policy,
)

MAIL = "kim@example.com"


def a_rule(name: str = "mail", **changes: Any) -> DataRule:
    """A rule that masks mail addresses anywhere, but for `changes`."""
    given: dict[str, Any] = {"kind": "email", "tools": "*", "path": ("*",), "denies": False}
    return DataRule(name=name, **(given | changes))


def under(*rules: DataRule, cedar: PolicySet = PERMIT_ALL) -> PolicySet:
    """A policy set with these data policies beside it."""
    return replace(cedar, data=rules)


def test_a_denied_call_names_the_policy_and_never_the_words() -> None:
    verdict = judge(a_call(args={"to": f"ask {MAIL}"}), under(a_rule("no-mail", denies=True)))
    assert (verdict.posture, verdict.gate) == (Posture.REFUSED, "data_policy")
    assert verdict.reason == "Refused (data policy): no-mail lets no email go to jira/create_issue."
    assert verdict.call.args == {"to": "ask [email]"}


def test_a_masked_call_goes_on_with_what_is_left() -> None:
    verdict = judge(a_call(args={"to": f"ask {MAIL}"}), under(a_rule()))
    assert (verdict.posture, verdict.gate) == (Posture.POSTURE, "data_policy")
    assert verdict.call.args == {"to": "ask [email]"}
    assert "mail" in verdict.reason


def test_what_is_masked_is_keyed_marked_and_sent() -> None:
    sent: list[Payload] = []

    def send(payload: Payload, may_send: MaySend) -> Outcome:
        sent.append(payload)
        return Outcome(fate=Fate.DONE)

    scope = RememberingScope()
    make_call(
        a_call(args={"to": MAIL}), scope, policy=under(a_rule()), send=send, open_way=lambda _: None
    )
    assert sent[0].args == {"to": "[email]"}
    verdict, payload, _ = scope.settled[0]
    assert verdict.call.args == payload.args == {"to": "[email]"} if payload else False


def test_cedar_judges_the_arguments_as_they_were_asked_for() -> None:
    cedar = policy(
        '@id("all") permit(principal, action, resource);'
        f'@id("not-kim") forbid(principal, action, resource) when {{ context.args has to && context.args.to == "{MAIL}" }};'
    )
    verdict = judge(a_call(args={"to": MAIL}), under(a_rule(), cedar=cedar))
    assert verdict.gate == "cedar"
    assert verdict.call.args == {"to": "[email]"}, "what is refused is told of masked"


@pytest.mark.promise("CR-14")
def test_a_call_judged_again_is_judged_as_it_was_asked() -> None:
    masked = judge(a_call(args={"to": MAIL}), under(a_rule())).call
    assert judge(masked, under(a_rule())).call == masked
    assert judge(masked, under()).call.args == {"to": MAIL}
    denied = judge(masked, under(a_rule("no-mail", denies=True)))
    assert "no-mail" in denied.reason


def test_a_denial_sees_what_another_policy_masks() -> None:
    rules = under(a_rule("a-mask"), a_rule("b-deny", denies=True))
    assert "b-deny" in judge(a_call(args={"to": MAIL}), rules).reason


def test_a_call_held_by_a_later_gate_is_held_as_it_was_masked() -> None:
    held = judge(
        a_call(args={"to": MAIL}, asker=replace(ASKER, write_posture="hold")), under(a_rule())
    )
    assert (held.posture, held.gate) == (Posture.HELD, "write_posture")
    assert held.call.args == {"to": "[email]"}


def test_a_denial_hides_no_hold_and_no_hold_hides_it() -> None:
    changed = a_contract(changed_since_approved=True)
    denied = judge(
        a_call(args={"to": MAIL}, contract=changed), under(a_rule("no-mail", denies=True))
    )
    assert denied.posture is Posture.REFUSED


@pytest.mark.parametrize(
    ("tools", "is_masked"),
    [("*", True), ("jira/*", True), ("jira/get_issue", True), ("git/*", False), ("Jira/*", False)],
)
def test_a_policy_speaks_of_the_tools_of_its_pattern(tools: str, is_masked: bool) -> None:
    verdict = judge(replace(a_read(), args={"to": MAIL}), under(a_rule(tools=tools)))
    assert (verdict.call.args == {"to": "[email]"}) == is_masked


def test_a_policy_that_cannot_be_read_lets_nothing_go_that_it_covers() -> None:
    rules = under(a_rule("broken", tools="jira/*", fault="is no regular expression"))
    refused = judge(a_call(args={}), rules)
    assert refused.gate == "data_policy"
    assert "broken cannot be read: is no regular expression" in refused.reason


def test_arguments_that_cannot_be_searched_in_time_do_not_leave_and_are_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data_rules, "MOST_SECONDS", 0.0)
    regex = a_rule(kind="regex", regex=read_regex("[0-9]+x"))
    verdict = judge(a_call(args={"to": "1" * 1000}), under(regex))
    assert "could not be searched in time" in verdict.reason
    assert verdict.call.args == {}


def test_the_path_of_a_policy_is_followed() -> None:
    rules = under(a_rule(path=read_path("customer.contact"), denies=True))
    assert judge(a_call(args={"note": MAIL}), rules).posture is Posture.POSTURE
    assert judge(a_call(args={"customer": [{"contact": MAIL}]}), rules).posture is Posture.REFUSED
