"""One table of all kinds: what the code writes is in it, and its words are known from its facts (EV-01, EV-06)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.fold import FOLDS
from events.kinds import KINDS, Type, misfit
from events.words import FACTS, without_words
from runs.guard import ACTION

ROOT = Path(__file__).parents[3]
PROMISED = (
    "run.started", "run.resumed", "step", "tool.call", "approval.decided", "retry", "handoff", "run.ended", "gap",
)  # fmt: skip


def written_kinds() -> Iterator[str]:
    """The kinds that are written anywhere: the first argument of `….events.add(` or `events.add(`, and what SQL writes."""
    for folder in ("runs", "liyagent", "events", "missions"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                holder = node.func.value
                name = (
                    holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
                )
                if node.func.attr == "add" and name == "events":
                    kind = node.args[0]
                    yield str(kind.value) if isinstance(kind, ast.Constant) else ast.unparse(kind)


@pytest.mark.promise("EV-01")
def test_every_kind_that_is_written_is_in_the_table() -> None:
    names = {"ACTION": ACTION, "GUARDED": ACTION}
    found = {names.get(it, it) for it in written_kinds()}
    assert {"run.started", "step", "tool.call", "run.ended", ACTION} <= found
    assert found <= KINDS.keys()


@pytest.mark.promise("EV-01")
def test_what_is_promised_is_in_the_table_and_what_is_later_says_so() -> None:
    assert set(PROMISED) <= KINDS.keys()
    assert {name: it.later for name, it in KINDS.items() if it.later} == {}


@pytest.mark.promise("EV-04")
def test_every_kind_has_its_place_in_the_state() -> None:
    assert FOLDS.keys() == KINDS.keys()


@pytest.mark.promise("EV-06")
def test_no_field_of_words_counts_as_a_fact_of_any_kind() -> None:
    words = {
        name
        for it in KINDS.values()
        for name, of in {**it.fields, **it.may_have}.items()
        if of is Type.WORDS
    }
    assert words == {"task", "text", "args", "result", "answer", "input", "output", "why"}
    assert not words & FACTS
    told = without_words({"step": 1, "args": {"a": 1}, "made_up": 2})
    assert told == {"step": 1, "withheld": ["args", "made_up"]}


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("nothing", {}, "no kind"),
        ("gap", [], "no object"),
        ("gap", {}, "does not tell missing"),
        ("gap", {"missing": "3"}, "wants number"),
        ("gap", {"missing": True}, "wants number"),
        ("gap", {"missing": 3, "more": 1}, "no field 'more'"),
        ("run.handed_over", {"holder": 7}, "wants text"),
        ("gap", {"missing": 3}, ""),
    ],
)
def test_what_does_not_fit_its_kind_is_told(kind: str, content: object, said: str) -> None:
    assert said in misfit(kind, content)
    assert bool(said) is bool(misfit(kind, content))
