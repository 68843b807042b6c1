"""Cedar policy sets: refused with their line, named by their ids, fingerprinted."""

from __future__ import annotations

import hashlib

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


def test_a_text_of_policies_without_end_is_refused() -> None:
    with pytest.raises(BadInput, match="512000 is the most"):
        check_policies("// " + "x" * 600_000)
