"""What is received: shapes, words, what was said before, bursts."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.entry.begin import begin_due
from liyagent.entry.models import Arrival
from liyagent.entry.teams import receive
from liyagent.entry.teams.activity import read_activity, said_to
from liyagent.entry.teams.history import MOST_CHARACTERS
from liyagent.entry.teams.models import TeamsTurn
from liyagent.entry.teams.rounds import forget_turns
from liyagent.entry.teams.words import NOT_RECORDED
from liyagent.providers.types import Role
from runs.models import Run
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import never, says


def turn(teams: Teams, asked: str, answer: str, **facts: Any) -> Arrival:
    """A turn from its message to the end of its run."""
    arrival = teams.say(asked, says(answer), **facts)
    teams.world.process().carry()
    return arrival


def heard(teams: Teams) -> list[tuple[str, str]]:
    """What the model was told last, but for the instructions."""
    told = teams.world.model.asked[-1].messages
    return [(it.role.value, it.text) for it in told if it.role is not Role.SYSTEM]


def test_a_turn_is_told_what_was_said_before_in_its_conversation_alone(teams: Teams) -> None:
    turn(teams, "disk full on db-1", "cleaned /var")
    elsewhere = {"id": "a:other", "tenantId": teams.connector.tenant}
    turn(teams, "who am I?", "nobody", conversation=elsewhere)
    turn(teams, "and db-2?", "that one too")
    assert heard(teams) == [
        ("user", "disk full on db-1"),
        ("assistant", "cleaned /var"),
        ("user", "and db-2?"),
    ]


def test_a_turn_without_an_answer_is_told_as_that_and_one_that_goes_on_is_not(teams: Teams) -> None:
    turn(teams, "first", "")
    teams.say("second", says("never carried"))
    Run.objects.exclude(status="failed").update(status="waiting")
    turn(teams, "third", "done")
    assert heard(teams) == [
        ("user", "first"),
        ("assistant", "I could not finish this."),
        ("user", "third"),
    ]


def test_where_words_are_not_recorded_the_answers_alone_are_told(teams: Teams) -> None:
    Agent.objects.update(recording="metadata")
    turn(teams, "the secret is plumtree", "noted")
    turn(teams, "what was it?", "?")
    assert heard(teams)[:2] == [("user", NOT_RECORDED), ("assistant", "noted")]


def test_history_is_bounded_and_the_newest_counts(teams: Teams) -> None:
    turn(teams, "old", "x" * (MOST_CHARACTERS - 100))
    turn(teams, "middle", "y" * 200)
    turn(teams, "now", "done")
    assert [text[:6] for _, text in heard(teams)] == ["middle", "yyyyyy", "now"]


MENTION = "<at>Liyagent</at>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{MENTION} disk full", "disk full"),
        (f"disk {MENTION}&nbsp;full\n", "disk  full"),
        (f"{MENTION} ask <at>Kim Lee</at> about it", "ask Kim Lee about it"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_the_bots_own_mention_is_no_part_of_what_is_asked(text: str, said: str) -> None:
    entities = [
        {"type": "mention", "text": MENTION, "mentioned": {"id": "28:app"}},
        {"type": "mention", "text": "<at>Kim Lee</at>", "mentioned": {"id": "29:kim"}},
        {"type": "clientInfo"},
        "x",
    ]
    body = {
        "type": "message",
        "id": "1",
        "channelId": "msteams",
        "serviceUrl": "https://x.example",
        "conversation": {"id": "c"},
        "recipient": {"id": "28:app"},
        "text": text,
        "entities": entities,
    }
    assert said_to(read_activity(body)) == said


def test_a_message_of_nothing_but_a_mention_is_400_and_starts_nothing(teams: Teams) -> None:
    for text in ("", "  ", None, "&nbsp;"):
        answer = teams.post(teams.channel.activity("message", text=text))
        assert (answer.status_code, answer.json()["code"]) == (400, "teams.nothing_said")
    assert not Arrival.objects.exists()


BAD_SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"type": None}, "type"),
    ({"type": 5}, "type"),
    ({"id": None}, "id"),
    ({"id": "x" * 256}, "id"),
    ({"conversation": "c"}, "conversation.id"),
    ({"conversation": {"id": "x" * 301}}, "conversation.id"),
    ({"serviceUrl": None}, "serviceUrl"),
    ({"channelId": ""}, "channelId"),
    ({"recipient": None}, "recipient.id"),
    ({"from": {"aadObjectId": 7}}, "from.aadObjectId"),
    ({"text": {"a": 1}}, "text"),
    ({"text": "x" * 50_001}, "text"),
]


def test_a_wrong_shape_is_400_names_the_field_and_starts_nothing(teams: Teams) -> None:
    for facts, field in BAD_SHAPES:
        answer = teams.post({**teams.channel.message("look"), **facts})
        assert (answer.status_code, answer.json()["code"]) == (400, "teams.activity_bad"), facts
        assert field in answer.json()["detail"]
    for body in (b"{", b"[]", b"\xff", b'{"type": NaN}', b'"text"', b""):
        assert teams.post(body).status_code == 400, body
    assert not Arrival.objects.exists()


def test_an_oversized_body_is_413(teams: Teams) -> None:
    for size in (300_000, 3_000_000):
        answer = teams.post(teams.channel.message("x" * size))
        assert (answer.status_code, answer.json()["code"]) == (413, "body.too_large")
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(
    "kind", ["conversationUpdate", "typing", "messageReaction", "installationUpdate", "event"]
)
def test_what_is_neither_message_nor_button_is_200_and_nothing_comes_of_it(
    teams: Teams, kind: str
) -> None:
    activity = teams.channel.activity(kind)
    del activity["id"]
    assert teams.post(activity).status_code == 200
    assert not Arrival.objects.exists()


@pytest.mark.field("FL-72")
def test_the_channel_is_answered_before_the_run_is_made(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr("liyagent.entry.teams.api.begin_received", started.append)
    teams.world.model.steps = [says("done")]
    arrival = teams.say("look")
    assert (arrival.state, started) == ("received", [arrival.run_id])
    assert not Run.objects.exists()


@pytest.mark.promise("CR-04")
def test_a_message_whose_start_goes_wrong_is_200_all_the_same_and_is_started_later(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: Any, **_facts: Any) -> None:
        raise LiyagentError("the database is away")

    teams.world.model.steps = [says("done")]
    with monkeypatch.context() as patch:
        patch.setattr(receive, "begin_arrival", away)
        arrival = teams.say("look")
    assert arrival.state == "received"
    teams.world.sql("UPDATE entry_arrival SET claimed_until = liyagent_now()")
    assert begin_due(never) == 1
    teams.world.process().carry()
    teams.deliver()
    teams.deliver()
    assert [it.text for it in teams.shown()] == ["done"]


def test_a_burst_is_told_to_come_again_and_keeps_what_was_accepted(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "MOST_OPEN", 3)
    teams.world.model.steps = [says("done")]
    first = teams.channel.message("first")
    assert teams.post(first).status_code == 200
    teams.say("second")
    teams.say("third")
    refused = teams.post(teams.channel.message("fourth"))
    assert (refused.status_code, refused["retry-after"]) == (429, "10")
    assert Arrival.objects.count() == 3
    assert teams.post(first).status_code == 200


def test_turns_are_forgotten_after_90_days_but_not_while_they_go_on(teams: Teams) -> None:
    ended = turn(teams, "one", "done")
    open_turn = teams.say("two", says("done"))
    assert forget_turns(never) == 0
    teams.world.sql("UPDATE teams_teamsturn SET created_at = liyagent_now() - interval '91 days'")
    assert forget_turns(never) == 1
    assert not TeamsTurn.objects.filter(run_id=ended.run_id).exists()
    assert TeamsTurn.objects.filter(run_id=open_turn.run_id).exists()
