"""The documents tell of what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# Code in backticks that is a path of ours: two parts at least, as the rooms have them.
PATH = re.compile(r"`((?:liyagent|runs|events|missions|tests|docs)/[\w./-]*[\w/])`")
FACT = re.compile(r"^## (\d+)\. ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """The anchor that a heading gets where it is shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target, fragment in LINK.findall(document.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        found = (document.parent / target) if target else document
        assert found.exists(), f"{document.name} leads to {target}"
        if fragment:
            assert fragment in map(anchor, HEADING.findall(found.read_text())), fragment


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(document: Path) -> None:
    named = set(PATH.findall(document.read_text()))
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_the_readme_lists_the_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = re.findall(r"^\| `make ([a-z-]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(told) == sorted(set(targets) - {"help"})


def test_the_architecture_draws_the_layers_of_the_import_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text()
    layers = re.findall(
        r'^    "([^"]+)",$', contract.partition("layers = [")[2].partition("]")[0], re.MULTILINE
    )
    there = [re.sub(r"\([^)]*\)|liyagent\.", "", layer).strip(" |") for layer in layers]
    drawn = (ROOT / "ARCHITECTURE.md").read_text().partition("## Imports point down")[2]
    chain = " ".join(drawn.partition("```\n")[2].partition("```")[0].split()).split(" > ")
    assert chain == [re.sub(r"^[| ]+", "", layer) for layer in there if layer]


def test_every_room_is_in_the_architectures_table() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = [path.parent for path in ROOT.glob("liyagent/*/__init__.py")]
    rooms += [
        path.parent
        for name in ("runs", "events", "missions")
        for path in ROOT.glob(f"{name}/__init__.py")
    ]
    assert {
        str(it.relative_to(ROOT)) for it in rooms if f"| `{it.relative_to(ROOT)}/` |" not in text
    } == set()


def test_decisions_are_numbered_dated_and_say_what_was_refused() -> None:
    facts = FACT.findall((ROOT / "DECISIONS.md").read_text())
    assert [int(number) for number, _, _ in facts] == list(range(1, len(facts) + 1))
    for number, _, body in facts:
        assert re.match(r"\d{4}-\d\d-\d\d\. Chosen: ", body), number
        assert "\nReason: " in body, number
        assert "\nRefused" in body, number


@pytest.mark.promise("CR-31")
@pytest.mark.parametrize(
    "said",
    [
        "final answer is delivered at most once",
        "generating at death is asked again",
        "Classifier training and red-team runs whose process stops",
        "between the check and the system call",
        "reworded repeat passes",
        "asynchronous standby can lose more than the last step",
        "hidepid",
    ],
)
def test_what_is_not_promised_is_said(said: str) -> None:
    assert said in (ROOT / "docs" / "not-promised.md").read_text()


def test_the_yaml_of_the_documents_can_be_read() -> None:
    files = sorted((ROOT / "docs").glob("**/*.yaml"))
    assert files
    for path in files:
        assert isinstance(yaml.safe_load(path.read_text()), dict), path.name
