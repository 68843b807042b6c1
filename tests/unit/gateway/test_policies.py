"""Cedar policy sets: refused with their line, named by their ids, fingerprinted."""

from __future__ import annotations

import hashlib
import time

import pytest

from liyagent.core.errors import BadInput
from liyagent.gateway.policies import check_policies, parse_policies

GOOD = """// Reads for everybody; a comment may hold a ; as it likes.
@id("reads")
permit(principal, action == Action::"call", resource) when { context.effect == "read" };

@id("no-prod")
forbid(principal, action, resource in Server::"jira")
when { context.args has env && context.args.env == "prod;" };
"""


def test_a_good_set_is_accepted_and_its_fingerprint_is_the_hash_of_its_text() -> None:
    check_policies(GOOD)
    assert parse_policies(GOOD).fingerprint == hashlib.sha256(GOOD.encode()).hexdigest()
    assert len(parse_policies(GOOD).cedar) == 2


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "no policy"),
        ("// only a comment", "no policy"),
        ("permit(principal, action, resource);", "line 1: wants an @id"),
        (GOOD + '@id("reads") forbid(principal, action, resource);', "line 8: wants an @id"),
        (GOOD + '\n\n@id("x")\npermit(principal\n action, resource);', "line 10: unexpected token"),
        (GOOD + '@id("x") permit(principal, action, resource)', "line 8: unexpected end"),
        (GOOD + '@id("x") permit(principal == ?principal, action, resource);', "line 8: templates"),
        (GOOD + '@id("x") permit(principal, action == Action::"cal", resource);', "line 8: unrec"),
        (
            GOOD + '@id("x") permit(principal, action, resource) when { context.agent == "a" };',
            "line 8",
        ),
    ],
)
def test_a_bad_set_is_refused_with_the_line_of_the_policy(text: str, wanted: str) -> None:
    with pytest.raises(BadInput, match=wanted):
        check_policies(text)


def test_an_argument_must_be_asked_for_before_it_is_used() -> None:
    """Cedar skips a policy that misses an attribute, a forbid too: so such a policy is not accepted."""
    with pytest.raises(BadInput, match="optional attribute"):
        check_policies(
            '@id("x") forbid(principal, action, resource) when { context.args.env == "prod" };'
        )


def test_numbers_of_arguments_are_strings_so_comparing_one_with_a_number_is_refused() -> None:
    with pytest.raises(BadInput, match="not compatible"):
        check_policies(
            '@id("x") permit(principal, action, resource)'
            " when { context.args has size && context.args.size == 5 };"
        )


@pytest.mark.parametrize(
    "condition",
    [
        'context.args has labels && context.args.labels.contains("x")',
        "context.args has dry_run && context.args.dry_run",
        'context.args has a.b && context.args.a.b == "x"',
        'context.args has "it-em" && context.args["it-em"] like "x*"',
    ],
)
def test_arguments_may_be_texts_sets_flags_and_objects(condition: str) -> None:
    check_policies(f'@id("x") permit(principal, action, resource) when {{ {condition} }};')


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("(" * 2000 + "true" + ")" * 2000, "more than 100 deep"),
        ("[" * 2000 + "]" * 2000, "more than 100 deep"),
        ('{"a": ' * 2000 + "1" + "}" * 2000, "more than 100 deep"),
        ("if true then true else " * 8000 + "true", "16000 is the most"),
        ("context" + ".a" * 5000 + " == 1", "nested too deeply"),
        ("1" + "+1" * 5000 + " == 1", "nested too deeply"),
        ("!" * 5000 + "true", "too many"),
        ('context.mission == "' + "(" * 500 + '"', ""),
    ],
)
def test_a_policy_that_would_take_the_process_down_is_refused(condition: str, said: str) -> None:
    text = f'@id("a") permit(principal, action, resource) when {{ {condition} }};'
    if not said:
        check_policies(text)
        return
    with pytest.raises(BadInput, match=said):
        check_policies(text)


def one_argument(number: int) -> str:
    return (
        f'@id("p{number}") permit(principal, action, resource) '
        f'when {{ context.args has a{number} && context.args.a{number} == "x" }};'
    )


def test_many_policies_of_an_argument_each_are_checked_in_time() -> None:
    started = time.thread_time()
    check_policies("\n".join(map(one_argument, range(400))))
    assert time.thread_time() - started < 5


def test_policies_of_more_arguments_than_can_be_checked_in_time_are_refused() -> None:
    speaks = " && ".join(f'context.args has a{it} && context.args.a{it} == "x"' for it in range(90))
    started = time.thread_time()
    with pytest.raises(BadInput, match="too many arguments"):
        check_policies(
            "\n".join(
                f'@id("{it}") permit(principal, action, resource) when {{ {speaks} }};'
                for it in range(10)
            )
        )
    with pytest.raises(BadInput, match="too many arguments"):
        check_policies("\n".join(map(one_argument, range(4000))))
    assert time.thread_time() - started < 5


def test_an_argument_that_policies_take_for_objects_and_for_text_is_checked_in_each() -> None:
    check_policies(
        """
        @id("a") permit(principal, action, resource)
        when { context.args has to && context.args.to has name && context.args.to.name == "x" };
        @id("b") forbid(principal, action, resource)
        when { context.args has to && context.args.to has tags && context.args.to.tags.contains("y") };
        @id("c") forbid(principal, action, resource)
        when { context.args has loud && context.args.loud };
        """
    )


def test_a_text_of_policies_without_end_is_refused() -> None:
    with pytest.raises(BadInput, match="512000 is the most"):
        check_policies("// " + "x" * 600_000)
