"""The picture of a workflow: every step and way out of it, nothing over another, in colours and in words."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liyagent.workflows.check import check_definition
from liyagent.workflows.layout import BOX_WIDTH, MOST_LANES, Box, draw
from liyagent.workflows.picture import STATES, anchor, box_id, fitted, picture_of
from liyagent.workflows.words import steps_in_words

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\u202e\"'&"


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "tool", "server": "jira", "tool": name, **more}


def parallel(name: str, **branches: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": name, "type": "parallel", "branches": branches}


def test_each_step_has_a_box_that_leads_to_its_line_and_is_found_by_its_id() -> None:
    data = {"steps": [tool("a"), parallel("both", left=[tool("a"), tool("b")], right=[tool("b")])]}
    picture = picture_of(data)
    assert picture.keys == ("a", "both", "both/left/a", "both/left/b", "both/right/b")
    root = ElementTree.fromstring(picture.svg)  # noqa: S314 - our own
    ids = [it.get("id") for it in root.iter(f"{SVG}g") if it.get("id")]
    assert ids == [*map(box_id, picture.keys), "box-end"]
    leads = {it.get("href") for it in root.iter(f"{SVG}a")}
    assert leads == {f"#{anchor(it)}" for it in picture.keys}
    assert [it.key for it in steps_in_words(data)] == list(picture.keys)


@pytest.mark.parametrize("state", [*STATES, "held"])
def test_what_came_of_a_step_is_told_in_a_word_and_by_a_class(state: str) -> None:
    svg = picture_of({"steps": [tool("a"), tool("b")]}, {"b": state}).svg
    marked = svg.partition('id="box-b"')
    assert STATES.get(state, state) in marked[2]
    assert "liy-flow-mark" not in marked[0]
    assert f"liy-flow-is-{state if state in STATES else 'other'}" in svg
    words = re.sub(r"<[^>]*>", " ", svg)
    assert STATES.get(state, state) in words


def test_what_is_too_long_to_be_told_says_that_more_was_there() -> None:
    step = {"id": "ask", "type": "agent", "agent": "triage", "task": "look " * 100}
    (told,) = steps_in_words({"steps": [step]})
    assert (len(told.what), told.what[-1]) == (301, "…")


def test_what_somebody_wrote_is_shown_and_not_obeyed() -> None:
    data = {
        "steps": [
            tool("a", when=f"input.x == '{HOSTILE}'"),
            {"id": "b", "type": "approve", "question": HOSTILE},
        ]
    }
    svg = picture_of(data, {"a": HOSTILE, HOSTILE: "done"}).svg
    assert "<script" not in svg
    assert "\u202e" not in svg
    assert "on" not in {name[:2] for it in ElementTree.fromstring(svg).iter() for name in it.attrib}  # noqa: S314
    assert "style=" not in svg


def test_lines_lead_to_each_way_out_and_say_of_which_kind_they_are() -> None:
    data = {
        "steps": [
            tool("a", on_error="d"),
            {"id": "b", "type": "branch", "cases": [{"when": "input.x", "next": "a"}, {"when": "input.y", "next": "c"}, {"when": "input.z", "next": "end"}], "else": "d"},
            tool("c", on_error="b"),
            tool("d", on_error="d"),
        ]
    }  # fmt: skip
    check_definition(data)
    drawn = draw(data)
    assert all(it.has_head for it in drawn.lines)
    kinds = [it.kind for it in drawn.lines]
    # Straight down: from the start, a to b, b to c, c to d, d to the end.
    assert (kinds.count("next"), kinds.count("error"), kinds.count("back")) == (5 + 2, 1, 3)
    words = {it.key: it.leads_to for it in steps_in_words(data)}
    assert words == {"a": "d on error, b", "b": "a, c, end, d", "c": "b on error, d", "d": "d on error, end"}  # fmt: skip


def test_lines_to_one_step_join_and_are_drawn_once() -> None:
    steps = [tool(f"s{n}", on_error="last") for n in range(9)]
    drawn = draw({"steps": [*steps, tool("last")]})
    errors = [it for it in drawn.lines if it.kind == "error"]
    assert len(errors) == 9
    (trunk,) = [it for it in errors if it.has_head]
    assert len(trunk.points) == 4
    assert {it.points[1][0] for it in errors} == {trunk.points[1][0]}


def inside(inner: Box, outer: Box) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def check_places(data: dict[str, Any]) -> None:
    """No box lies over another but within the step it belongs to, and nothing lies outside the picture."""
    drawn = draw(data)
    boxes = {it.key: it for it in drawn.boxes}
    for key, box in boxes.items():
        assert box.x >= 0
        assert box.x + box.width <= drawn.width
        assert box.y + box.height <= drawn.height
        for other_key, other in boxes.items():
            if other_key.startswith(f"{key}/"):
                assert inside(other, box), (key, other_key)
            elif key != other_key and not key.startswith(f"{other_key}/"):
                assert apart(box, other), (key, other_key)
    for line in drawn.lines:
        for (x, y), (to_x, to_y) in pairwise(line.points):
            assert x == to_x or y == to_y
        assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in line.points)


NAMES = [f"s{number}" for number in range(6)]


def sequences(deep: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    target = st.sampled_from([*NAMES, "end"])
    bodies: list[st.SearchStrategy[dict[str, Any]]] = [
        st.fixed_dictionaries({"type": st.just("tool"), "server": st.just("v"), "tool": st.just("t")}, optional={"on_error": target, "next": target}),
        st.fixed_dictionaries({"type": st.just("branch"), "cases": st.lists(st.fixed_dictionaries({"when": st.just("input.a"), "next": target}), min_size=1, max_size=4)}, optional={"else": target}),
    ]  # fmt: skip
    if deep:
        branches = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), sequences(deep - 1), min_size=1, max_size=4)  # fmt: skip
        bodies.append(st.fixed_dictionaries({"type": st.just("parallel"), "branches": branches}))
    return st.lists(st.one_of(bodies), min_size=6, max_size=6).map(
        lambda steps: [{"id": name, **it} for name, it in zip(NAMES, steps, strict=True)]
    )


@settings(max_examples=25)
@given(sequences(1))
def test_nothing_lies_over_another_or_outside(steps: list[dict[str, Any]]) -> None:
    check_places({"steps": steps})


@pytest.mark.parametrize("count", [1, 20, 200])
def test_a_long_one_grows_downwards_alone(count: int) -> None:
    steps = [tool(f"s{n}", on_error=f"s{(n * 37) % count}", next=f"s{(n * 91 + 5) % count}") for n in range(count)]  # fmt: skip
    picture = picture_of({"steps": steps})
    assert picture.width <= BOX_WIDTH + 2 * MOST_LANES * 11 + 60
    assert len(picture.svg) < count * 2500 + 2000


def test_many_branches_go_below_one_another() -> None:
    steps: list[dict[str, Any]] = [tool("x")]
    for deep in range(3):
        steps = [parallel(f"p{deep}", **{f"b{n}": steps for n in range(4)})]
    assert draw({"steps": steps}).width < 3 * 2 * (BOX_WIDTH + 100)


@pytest.mark.parametrize(("text", "width", "shown"), [("short", 100, "short"), ("x" * 50, 73, "x" * 9 + "…"), ("日本語日本語", 73, "日本語日…"), ("", 50, "-")])  # fmt: skip
def test_text_is_cut_where_it_would_leave_its_box(text: str, width: float, shown: str) -> None:
    assert fitted(text, width) == shown
