"""The list of metrics, the rules and the board tell of metrics that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from liyagent.core import metrics
from liyagent.operation import scrape
from tests.docs.test_documents import HEADING, anchor

OPERATE = Path(__file__).resolve().parents[2] / "docs" / "operate"
ROW = re.compile(r"^\| `(liyagent_\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", re.MULTILINE)
NAME = re.compile(r"\bliyagent_\w+|\bprocess_\w+")
SELECTED = re.compile(r"\b(liyagent_\w+)\{([^}]*)\}")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
KNOWN = {**metrics.KNOWN, **scrape.KNOWN}
UNITS = ("_seconds", "_total")
PLURAL = re.compile(
    r"runs|sagas|roots|notices|holders|writes|looks|agents|servers|tools|events|jobs|streams|slots|statements$|_up$|_contained$|_stopped$|heads_held$"
)
SEVERITIES = {"critical", "warning", "info"}
# What Prometheus gives every series, or a histogram its buckets.
GIVEN = {"instance", "job", "le"}


def rules() -> list[dict[str, Any]]:
    """All rules of the file."""
    groups = yaml.safe_load((OPERATE / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    """Every expression of the rules and of the board."""
    yield from (rule["expr"] for rule in rules())
    for panel in board()["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


def board() -> dict[str, Any]:
    """The board."""
    found: dict[str, Any] = json.loads((OPERATE / "grafana.json").read_text())
    return found


def known_as(name: str) -> str:
    """The metric that a series belongs to."""
    for ending in ("_bucket", "_count", "_sum"):
        base = name.removesuffix(ending)
        if base != name and base in KNOWN and KNOWN[base].kind == "histogram":
            return base
    return name


def test_the_document_lists_every_metric_with_its_help_and_no_other() -> None:
    text = (OPERATE / "metrics.md").read_text()
    listed = {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels)), told)
        for name, kind, labels, told in ROW.findall(text)
    }
    assert listed == {name: (it.kind, it.labels, it.told) for name, it in KNOWN.items()}


def test_every_metric_says_its_unit_and_has_a_help() -> None:
    for name, it in KNOWN.items():
        assert it.told.endswith("."), name
        assert name.endswith(UNITS) or PLURAL.search(name), name
        assert (it.kind == "counter") == name.endswith("_total"), name


def test_every_metric_that_a_rule_or_a_panel_names_is_there() -> None:
    named = {known_as(name) for text in expressions() for name in NAME.findall(text)}
    assert {it for it in named if not it.startswith("process_")} - set(KNOWN) == set()
    assert len(named) > 40


def test_every_label_that_a_rule_or_a_panel_selects_or_groups_by_is_there() -> None:
    for text in expressions():
        named = {known_as(name) for name in NAME.findall(text) if name.startswith("liyagent_")}
        has = GIVEN.union(*(KNOWN[name].labels for name in named))
        for name, selected in SELECTED.findall(text):
            labels = {it.group(1) for it in re.finditer(r"(\w+)\s*(?:=~|!~|!=|=)\"", selected)}
            assert labels <= {*KNOWN[known_as(name)].labels, *GIVEN}, text
        for grouped in GROUPED.findall(text):
            assert {it.strip() for it in grouped.split(",")} <= has, text


def test_the_brackets_of_every_expression_match() -> None:
    pairs = {")": "(", "]": "[", "}": "{"}
    for text in expressions():
        opened: list[str] = []
        for character in re.sub(r'"[^"]*"', "", text):
            if character in pairs.values():
                opened.append(character)
            elif character in pairs:
                assert opened.pop() == pairs[character], text
        assert opened == [], text


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_rule_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in SEVERITIES
    assert {"summary", "description", "runbook"} == set(rule["annotations"])
    file, _, fragment = rule["annotations"]["runbook"].partition("#")
    text = (OPERATE / file).read_text()
    assert fragment in map(anchor, HEADING.findall(text))
    # One that looks back over a time by itself needs no further wait.
    assert "for" in rule or "[" in rule["expr"] or "offset" in rule["expr"]


def test_the_names_of_rules_are_their_own() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))


def test_the_board_has_a_place_of_its_own_for_each_panel_and_asks_the_chosen_source() -> None:
    panels = board()["panels"]
    assert len({it["id"] for it in panels}) == len(panels)
    taken = [
        (x, y)
        for place in (it["gridPos"] for it in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    sources = {it["datasource"]["uid"] for it in panels if it["type"] != "row"}
    assert sources == {"${datasource}"}
    assert {it["name"] for it in board()["templating"]["list"]} == {"datasource", "job"}
