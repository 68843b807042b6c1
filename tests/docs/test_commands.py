"""Each command that a document has a reader type is one that there is, with options that it takes."""

from __future__ import annotations

import shlex

import pytest
from django.core.management import get_commands, load_command_class

from liyagent.leases.own import OWN
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.conftest import Api, operator
from tests.flows.test_sources import work

__all__ = ["operator"]

DOCUMENTS = [path.name for path in sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_command_that_is_typed_is_taken(document: str) -> None:
    for line in commands_of(document):
        if not line.startswith("liyagent "):
            continue
        typed = line.partition(" > ")[0].partition(" | ")[0]
        words = shlex.split(typed, comments=True)[1:]
        app = get_commands()[words[0]]
        command = load_command_class(str(app), words[0])
        command.create_parser("manage.py", words[0]).parse_args(words[1:])


def test_a_classifier_learns_from_the_file_of_the_document(operator: Api, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(OWN, "holder", None)
    typed = Shell(places={})
    train, _runs, listed, asked, remove = [it for it in commands_of("red-team.md") if " classifier " in it]  # fmt: skip
    typed.type(train)
    work()
    for line in (listed, asked, remove):
        typed.type(line)
    assert "queue" in typed.said[listed]
    assert typed.said[asked].split()[1] == "disks"
    assert "1 versions removed" in typed.said[remove]
