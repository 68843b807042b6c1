"""The gates, and their order."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import Posture
from liyagent.gateway.policies import parse_policies
from tests.unit.gateway.support import ASKER, PERMIT_ALL, a_call, a_contract, a_read, policy

NO_PROD = policy(
    '@id("all") permit(principal, action, resource);'
    '@id("no-prod") forbid(principal, action, resource in Server::"jira")'
    ' when { context.args has env && context.args.env == "prod" };'
)


def test_a_call_that_every_gate_permits_goes_with_the_fingerprint_of_the_policies() -> None:
    verdict = judge(a_call(), PERMIT_ALL)
    assert verdict.posture is Posture.POSTURE
    assert verdict.policy_fingerprint == PERMIT_ALL.fingerprint


@pytest.mark.field("FL-47")
def test_a_tool_that_does_not_exist_is_refused_by_name() -> None:
    verdict = judge(a_call("delete_everything", contract=None), PERMIT_ALL)
    assert verdict.posture is Posture.REFUSED
    assert verdict.gate == "trust"
    assert "there is no tool jira/delete_everything" in verdict.reason


def test_arguments_that_cannot_be_trusted_are_refused_with_the_problem() -> None:
    verdict = judge(a_call(problem="they end in the middle of a text"), PERMIT_ALL)
    assert verdict.posture is Posture.REFUSED
    assert "they end in the middle of a text" in verdict.reason


def test_a_contained_agent_may_not_even_read() -> None:
    verdict = judge(a_read(asker=replace(ASKER, contained=True)), PERMIT_ALL)
    assert verdict.posture is Posture.REFUSED
    assert "contained" in verdict.reason


@pytest.mark.parametrize(
    ("patterns", "is_let_in"),
    [
        (("jira/create_issue",), True),
        (("jira/*",), True),
        (("*",), True),
        (("incident/*", "jira/create_*"), True),
        ((), False),
        (("Jira/*",), False),
        (("create_issue",), False),
        (("jira",), False),
        (("jira/create",), False),
        (("ira/*",), False),
    ],
)
def test_the_allow_list_matches_the_whole_name(patterns: tuple[str, ...], is_let_in: bool) -> None:
    verdict = judge(a_call(asker=replace(ASKER, tool_patterns=patterns)), PERMIT_ALL)
    assert (verdict.posture is Posture.POSTURE) == is_let_in
    assert verdict.gate == ("" if is_let_in else "allow_list")


def test_without_any_policy_all_is_refused_and_the_reason_says_what_to_do() -> None:
    verdict = judge(a_read(), parse_policies(""))
    assert verdict.posture is Posture.REFUSED
    assert "manage.py policies load" in verdict.reason


def test_what_no_policy_permits_is_refused() -> None:
    reads = policy(
        '@id("reads") permit(principal, action, resource) when { context.effect == "read" };'
    )
    assert judge(a_read(), reads).posture is Posture.POSTURE
    verdict = judge(a_call(), reads)
    assert verdict.posture is Posture.REFUSED
    assert "no policy permits agent triage to call jira/create_issue (write)" in verdict.reason


def test_a_forbid_wins_and_is_named_by_its_id() -> None:
    assert judge(a_call(args={"env": "test"}), NO_PROD).posture is Posture.POSTURE
    verdict = judge(a_call(args={"env": "prod"}), NO_PROD)
    assert verdict.posture is Posture.REFUSED
    assert "no-prod forbids" in verdict.reason


def test_a_forbid_that_cannot_be_evaluated_refuses_the_call() -> None:
    """Cedar itself skips it and lets the call go."""
    unsafe = policy(
        '@id("all") permit(principal, action, resource);'
        '@id("no-prod") forbid(principal, action, resource) when { context.args.env == "prod" };'
    )
    verdict = judge(a_call(args={"title": "x"}), unsafe)
    assert verdict.posture is Posture.REFUSED
    assert "no-prod" in verdict.reason


def test_policies_see_numbers_as_strings_and_no_nulls() -> None:
    five = policy(
        '@id("five") permit(principal, action, resource) when { context.args has n'
        ' && context.args.n == "5" && context.args has f && context.args.f == "1.5"'
        " && !(context.args has nothing) && context.args has deep.list };"
    )
    args = {"n": 5, "f": 1.5, "nothing": None, "deep": {"list": [None, 2**80, True, "x"]}}
    assert judge(a_call(args=args), five).posture is Posture.POSTURE


@pytest.mark.parametrize("name", ["__entity", "__extn", "__expr"])
def test_an_argument_cannot_pose_as_an_entity_or_a_function(name: str) -> None:
    args: dict[str, Any] = {"env": {name: {"type": "Agent", "id": "admin"}}}
    verdict = judge(a_call(args=args), PERMIT_ALL)
    assert verdict.posture is Posture.REFUSED
    assert name in verdict.reason


def test_a_text_that_patterns_would_take_minutes_to_be_held_against_is_refused() -> None:
    rules = parse_policies(
        '@id("all") permit(principal, action, resource);'
        '@id("no") forbid(principal, action, resource) when '
        f'{{ context.args has body && context.args.body like "*{"a" * 15_000}b" }};'
    )
    started = time.thread_time()
    verdict = judge(a_call(args={"to": [{"body": "x"}], "body": "a" * 1_000_000}), rules)
    assert time.thread_time() - started < 1
    assert verdict.posture is Posture.REFUSED
    assert "1000000 characters, too many" in verdict.reason
    assert judge(a_call(args={"body": "a" * 10_000}), rules).posture is Posture.POSTURE


def test_arguments_at_the_greatest_depth_and_hostile_names_can_be_judged() -> None:
    deep: Any = "x"
    for _ in range(99):
        deep = {'a"b\\ \n': deep}
    assert judge(a_call(args=deep), PERMIT_ALL).posture is Posture.POSTURE


def test_a_tool_that_changed_since_it_was_approved_is_held() -> None:
    changed = a_contract(changed_since_approved=True)
    verdict = judge(a_call(contract=changed), PERMIT_ALL)
    assert verdict.posture is Posture.HELD
    assert "manage.py tools approve jira/create_issue" in verdict.reason


@pytest.mark.parametrize(
    ("setting", "posture"),
    [
        ("allow", Posture.POSTURE),
        ("hold", Posture.HELD),
        ("refuse", Posture.REFUSED),
        ("?", Posture.REFUSED),
    ],
)
def test_writes_follow_the_agents_posture_and_reads_pass(setting: str, posture: Posture) -> None:
    asker = replace(ASKER, write_posture=setting)
    assert judge(a_call(asker=asker), PERMIT_ALL).posture is posture
    assert judge(a_read(asker=asker), PERMIT_ALL).posture is Posture.POSTURE


def test_what_was_marked_as_a_write_stays_one_for_the_posture() -> None:
    asker = replace(ASKER, write_posture="hold")
    assert judge(a_read(asker=asker, was_write=True), PERMIT_ALL).posture is Posture.HELD


def test_a_hold_never_hides_a_refusal() -> None:
    changed = a_contract(changed_since_approved=True)
    verdict = judge(
        a_call(asker=replace(ASKER, write_posture="refuse"), contract=changed), PERMIT_ALL
    )
    assert verdict.posture is Posture.REFUSED


def test_a_decision_takes_well_under_a_millisecond() -> None:
    """Measured at about 90 us; the bound is wide so that only a lost cache (policies parsed anew) breaks it."""
    call = a_call(args={"env": "test", "title": "x" * 1000})
    times = []
    for _ in range(200):
        started = time.perf_counter()
        judge(call, NO_PROD)
        times.append(time.perf_counter() - started)
    assert sorted(times)[100] < 0.0006
