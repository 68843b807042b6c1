"""`docs/traces.md` tells of the spans and attributes there are, and of no others."""

from __future__ import annotations

import re
from pathlib import Path

from liyagent.telemetry.kinds import (
    CUT_BY,
    ERROR,
    FACTS,
    MISSION,
    NAMED,
    OF_THE_RUN,
    REQUEST_FACTS,
    REQUEST_ID,
    SPAN,
    WORDS,
    Kind,
)

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "traces.md").read_text()
ATTRIBUTE = re.compile(r"`((?:liyagent|gen_ai|error|http)\.[a-z_.]+)`")


def rows(heading: str) -> list[str]:
    """The rows of the tables below a heading."""
    below = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [it for it in below.splitlines() if it.startswith("| `")]


def test_its_spans_are_those_there_are() -> None:
    told = [it.split("|")[1:3] for it in rows("What is told") if it.count("|") == 4]
    spans = {kind.strip(" `"): name.strip(" `").split()[0] for kind, name in told}
    kinds = {kind: name for kind, name in spans.items() if "." not in kind}
    assert kinds == {kind.value: NAMED[kind] for kind in Kind}


def test_its_attributes_are_those_that_are_told() -> None:
    told = [name for it in rows("What is told") for name in ATTRIBUTE.findall(it.split("|")[1])]
    assert sorted(told) == sorted({*OF_THE_RUN, *FACTS.values(), CUT_BY})


def test_its_words_are_those_that_can_be_told() -> None:
    told = [name for it in rows("Words") for name in ATTRIBUTE.findall(it.split("|")[1])]
    assert sorted(told) == sorted(WORDS.values())


def test_its_attributes_of_a_request_are_those_that_are_told() -> None:
    told = [name for it in rows("Requests") for name in ATTRIBUTE.findall(it.split("|")[1])]
    assert sorted(told) == sorted({MISSION, SPAN, REQUEST_ID, ERROR, *REQUEST_FACTS.values()})
