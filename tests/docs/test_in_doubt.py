"""`docs/in-doubt.md`: the commands, filters and states that it names are those there are."""

from __future__ import annotations

import re
import shlex

from django.core.management import load_command_class
from django.core.management.base import CommandParser

from runs.doubts import STATES
from runs.management.commands import doubts
from tests.docs.walk import DOCS, commands_of

TEXT = (DOCS / "in-doubt.md").read_text()
ID = "7"


def parser() -> CommandParser:
    made: CommandParser = load_command_class("runs", "doubts").create_parser("manage.py", "doubts")
    return made


def test_every_command_of_it_can_be_typed() -> None:
    typed = [
        shlex.split(words.replace("$ID", ID))
        for line in commands_of("in-doubt.md")
        for words in re.findall(r"liyagent doubts ([^|)]*)", line)
    ]
    assert [words[0] for words in typed] == ["list", "list", "happened", "list"]
    for words in typed:
        parser().parse_args(words)


def test_it_names_every_verb_filter_and_state() -> None:
    for name in ("list", "show", "happened", "did-not", "look-again"):
        assert f"`doubts {name}" in TEXT, name
    for name in doubts.NARROWED_BY:
        assert f"`--{name}" in TEXT, name
    for name in (*STATES, "waits", "found", "settled"):
        assert f"`{name}`" in TEXT, name
