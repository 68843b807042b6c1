"""Paths and templates find values or say where they found none."""

import time
from typing import Any

import pytest

from liyagent.core.templates import (
    BadTemplate,
    MissingPath,
    Reading,
    lookup,
    paths_of,
    readings_of,
    render,
)

CONTEXT: dict[str, Any] = {
    "steps": {"issue": {"output": {"key": "OPS-7", "count": 3, "none": None, "ok": True}}},
    "list": [{"id": 1}, {"id": 2}],
    "map": {"0": "zero"},
    "word": "a b",
    "é": "accent",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("steps.issue.output.key", "OPS-7"),
        ("list.1.id", 2),
        ("map.0", "zero"),
        ("steps.issue.output.none", None),
        ("é", "accent"),
        ("list", CONTEXT["list"]),
    ],
)
def test_a_path_leads_through_objects_and_lists(path: str, value: Any) -> None:
    assert lookup(path, CONTEXT) == value
    assert render({"$expr": path}, CONTEXT) == value


@pytest.mark.promise("SG-01")
@pytest.mark.parametrize(
    "path", ["nothing", "steps.issue.output.kye", "list.2", "list.-1", "list.01", "list.x", "word.0", "list.id", "list.²",
             "steps.issue.output.none.x", "word.__class__", "list.__len__", "list." + "9" * 400]
)  # fmt: skip
def test_a_path_to_nothing_is_an_error_and_never_null(path: str) -> None:
    with pytest.raises(MissingPath):
        lookup(path, CONTEXT)
    with pytest.raises(MissingPath):
        render({"a": [f"{{{{ {path} }}}}"]}, CONTEXT)


def test_the_error_says_where_the_path_ends_and_what_is_there() -> None:
    with pytest.raises(
        MissingPath, match=r"at 'kye': there is an object with count, key, none, ok"
    ):
        lookup("steps.issue.output.kye", CONTEXT)
    with pytest.raises(MissingPath, match="a list of 2"):
        lookup("list.7", CONTEXT)


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a" * 501])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(BadTemplate):
        lookup(path, CONTEXT)


def test_an_expression_stands_alone() -> None:
    for value in ({"$expr": "word", "more": 1}, {"$expr": 3}, {"$expr": None}):
        with pytest.raises(BadTemplate, match="stand alone"):
            render(value, CONTEXT)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ steps.issue.output.count }}", 3),
        ("{{list}}", CONTEXT["list"]),
        ("{{ steps.issue.output.none }}", None),
        ("{{ word }} ", "a b "),
        ("{{ word }}{{ word }}", "a ba b"),
        ("n={{ steps.issue.output.count }} ok={{ steps.issue.output.ok }}", "n=3 ok=true"),
        ("{{ list }}!", '[{"id":1},{"id":2}]!'),
        ("{{ unclosed", "{{ unclosed"),
        ("{ word } }} $expr", "{ word } }} $expr"),
        ("", ""),
    ],
)
def test_a_template_that_stands_alone_keeps_its_type(template: str, value: Any) -> None:
    assert render(template, CONTEXT) == value


def test_templates_are_filled_at_any_depth_and_other_values_stay() -> None:
    template = {"a": [1, None, {"b": "{{ word }}", "c": {"$expr": "list.0"}}], "{{ word }}": 1.5}
    expected = {"a": [1, None, {"b": "a b", "c": {"id": 1}}], "{{ word }}": 1.5}
    assert render(template, CONTEXT) == expected


def test_what_a_template_finds_is_not_filled_again() -> None:
    assert render("{{ x }}", {"x": "{{ secret }}", "secret": 1}) == "{{ secret }}"


def test_a_filled_text_and_a_template_have_their_bounds() -> None:
    with pytest.raises(BadTemplate, match="longer"):
        render("{{ x }}{{ x }}", {"x": "y" * 600_000})
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadTemplate, match="deeper"):
        render(deep, CONTEXT)


def test_hostile_text_costs_no_more_than_its_length() -> None:
    begun = time.monotonic()
    for hostile in ("{{" * 200_000, "{{ " + " " * 400_000, "{" * 400_000):
        assert render(hostile, CONTEXT) == hostile
    assert time.monotonic() - begun < 20


def test_the_paths_of_a_template_are_those_that_it_looks_up() -> None:
    template = {"a": ["{{ x.y }}", 1, {"$expr": " z"}], "b": "{{x.y}}-{{ w }}", "{{ no }}": None}
    assert paths_of(template) == ["x.y", " z", "w"]
    assert list(readings_of(template, ("args",)))[:2] == [
        Reading(("args", "a", 0), "x.y"),
        Reading(("args", "a", 2), " z"),
    ]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ({"a": ["{{ x }"]}, r"^\$\.a\[0\]: .* opens a template and does not close it"),
        ({"a": {"$expr": 3}}, r"^\$\.a: .*stand alone"),
        ("{{ a..b }}", r"^\$: .*no dotted path"),
    ],
)
def test_what_is_no_template_is_told_with_its_place(template: Any, said: str) -> None:
    with pytest.raises(BadTemplate, match=said):
        paths_of(template)


def test_brackets_at_the_sides_of_a_template_are_text() -> None:
    assert paths_of('{"a":{{{ x }}{') == ["x"]
