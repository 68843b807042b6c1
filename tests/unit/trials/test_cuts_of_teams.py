"""What the cuts of Teams say of a conversation: one message bears the answer, and nothing else is said (ruling 30)."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from liyagent.entry.teams.words import PLACEHOLDER
from tests.fakes.teams_connector import TeamsConnector
from tests.trials.cuts.ends import Ends
from tests.trials.cuts.kinds import ANSWER, KINDS
from tests.trials.cuts.ways.teams import Teams

PLAIN = next(it for it in KINDS if it.name == "teams")
EXCUSE = "I could not finish this."


@pytest.fixture
def connector() -> Iterator[TeamsConnector]:
    """Nothing stands in its conversations."""
    with TeamsConnector() as it:
        yield it


def visited(connector: TeamsConnector, *posted: list[str], conversation: str = "") -> Teams:
    """A visit whose conversation, or another, has these messages, each with all words that it ever had."""
    ends = SimpleNamespace(connectors={PLAIN.agent: connector})
    visit = Teams(ends=cast(Ends, ends), kind=PLAIN)
    visit.prepare()
    for words in posted:
        place = conversation or f"a:{visit.name}"
        made = connector.accept("POST", place, "", said(words[0], visit))
        for it in words[1:]:
            connector.accept("PUT", place, made, said(it, visit))
    return visit


def said(text: str, visit: Teams) -> dict[str, Any]:
    """A message of the bot."""
    return {"type": "message", "text": text, "replyToId": visit.activity["id"]}


def test_the_answer_in_the_place_of_a_placeholder_is_as_promised_and_other_placeholders_are_orphans(connector: TeamsConnector) -> None:  # fmt: skip
    visit = visited(connector, [PLACEHOLDER], [PLACEHOLDER, ANSWER], [PLACEHOLDER])
    assert visit.shown_broken() == []
    assert (visit.answers, visit.orphans) == (1, 2)
    # The same update again changes nothing that anybody sees.
    assert visited(connector, [PLACEHOLDER, ANSWER, ANSWER]).shown_broken() == []


@pytest.mark.parametrize(
    ("posted", "answers"),
    [
        ([], 0),
        ([[PLACEHOLDER]], 0),
        ([[PLACEHOLDER, ANSWER], [PLACEHOLDER, ANSWER]], 2),
        ([[PLACEHOLDER, ANSWER], [ANSWER]], 2),
        # An excuse is a reply too: beside the answer, before it, after it, or instead of it.
        ([[PLACEHOLDER, ANSWER], [EXCUSE]], 2),
        ([[PLACEHOLDER, EXCUSE, ANSWER]], 1),
        ([[PLACEHOLDER, ANSWER, EXCUSE]], 1),
        ([[PLACEHOLDER, ANSWER, PLACEHOLDER]], 1),
        ([[PLACEHOLDER, EXCUSE]], 1),
    ],
)
def test_anything_else_is_not(
    connector: TeamsConnector, posted: list[list[str]], answers: int
) -> None:
    visit = visited(connector, *posted)
    assert visit.shown_broken() != []
    assert visit.answers == answers


def test_an_answer_in_the_conversation_of_others_is_not(connector: TeamsConnector) -> None:
    broken = visited(connector, [PLACEHOLDER, ANSWER], conversation="a:others").shown_broken()
    assert len(broken) == 2
    assert "a:others" in broken[1]
