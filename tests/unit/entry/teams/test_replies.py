"""A reply appears once, whatever the connector does and whenever a process dies (ruling 30)."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import Any

import pytest
from django.conf import settings

from liyagent.agents.containment import contain_agent
from liyagent.agents.models import Agent
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.teams import deliver
from liyagent.entry.teams.connector import post, update
from liyagent.entry.teams.models import TeamsBot, TeamsTurn
from liyagent.entry.teams.words import NOT_TAKEN, PLACEHOLDER
from runs.stop import stop_run
from tests.fakes.teams_connector import Fault, Shown
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import says
from tests.unit.runs.carrying.vendor import Killed

GROWN = "grown by 20 GB"


def answered(teams: Teams) -> Arrival:
    """A turn whose run has ended, and of which nothing was sent yet."""
    arrival = teams.say("disk full", says(GROWN))
    teams.world.process().carry()
    return arrival


def deliver_all(teams: Teams, *, looks: int = 6) -> None:
    """Look again and again, each time as if the pauses between were over."""
    for _ in range(looks):
        teams.later()
        teams.deliver()


def bearing(teams: Teams) -> list[Shown]:
    """The messages that bear an answer now, or did at any time."""
    return [it for it in teams.shown() if any(form.get("text") != PLACEHOLDER for form in it.forms)]


FAULTS = (
    Fault(status=500),
    Fault(status=500, accepts=True),
    Fault(resets=True),
    Fault(resets=True, accepts=True),
    Fault(status=412),
    Fault(status=429),
    Fault(status=502, accepts=True),
    Fault(status=401),
)


@pytest.mark.promise("CR-04")
@pytest.mark.field("FL-74")
def test_an_answer_never_appears_twice_whatever_the_connector_does(teams: Teams) -> None:
    pairs = [*product(FAULTS[:4], FAULTS[:4]), *((it, it) for it in FAULTS[4:])]
    for number, (first, second) in enumerate(pairs, start=1):
        arrival = answered(teams)
        teams.connector.faults = [first, second]
        deliver_all(teams, looks=4)
        assert [it.text for it in bearing(teams)] == [GROWN] * number, (first, second)
        assert set(teams.states(arrival).values()) == {"delivered"}, (first, second)
    posted = [it.body["text"] for it in teams.connector.log if it.method == "POST"]
    assert set(posted) == {PLACEHOLDER}


@pytest.mark.promise("CR-08")
@pytest.mark.field("FL-74")
@pytest.mark.parametrize("is_accepted", [False, True])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_process_that_dies_while_it_sends_is_replaced_by_one_that_hands_on_the_kept_answer(
    teams: Teams, monkeypatch: pytest.MonkeyPatch, method: str, is_accepted: bool
) -> None:
    arrival = answered(teams)
    asked = len(teams.world.model.asked)
    verb = "post" if method == "POST" else "update"
    real: Any = {"post": post, "update": update}[verb]

    def dies(*args: Any, **facts: Any) -> None:
        if is_accepted:
            real(*args, **facts)
        raise Killed(verb)

    with monkeypatch.context() as patch:
        patch.setattr(deliver, verb, dies)
        with pytest.raises(Killed):
            teams.deliver()
    deliver_all(teams)
    (only,) = bearing(teams)
    assert only.text == GROWN
    assert set(teams.states(arrival).values()) == {"delivered"}
    assert len(teams.world.model.asked) == asked
    orphans = [it for it in teams.shown() if it not in bearing(teams)]
    assert len(orphans) == (1 if method == "POST" and is_accepted else 0)


def test_two_that_post_a_placeholder_at_once_put_the_answer_in_the_same(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrival = answered(teams)

    def while_another_posts(*args: Any, **facts: Any) -> Any:
        TeamsTurn.objects.filter(run_id=arrival.run_id).update(reply="1:first")
        return post(*args, **facts)

    teams.connector.shown["1:first"] = Shown(id="1:first", conversation="a", forms=[{"text": PLACEHOLDER}])  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(deliver, "post", while_another_posts)
        teams.deliver()
    deliver_all(teams)
    assert [it.id for it in bearing(teams)] == ["1:first"]


def test_a_placeholder_that_is_known_is_not_posted_again(teams: Teams) -> None:
    """The process died after it kept the id, and before the delivery was settled."""
    arrival = answered(teams)
    teams.deliver()
    teams.world.sql("UPDATE entry_delivery SET state = 'pending' WHERE kind = 'placeholder'")
    deliver_all(teams)
    assert len(teams.shown()) == 1
    assert set(teams.states(arrival).values()) == {"delivered"}


def test_what_the_channel_refuses_for_good_is_a_dead_letter_with_its_reason(teams: Teams) -> None:
    told = {"error": {"code": "BotNotInConversationRoster", "message": "The bot is gone."}}
    for status in (400, 403, 404):
        arrival = answered(teams)
        teams.connector.log.clear()
        teams.connector.faults = [Fault(status=status, told=told) for _ in range(9)]
        deliver_all(teams, looks=3)
        assert teams.states(arrival) == {"placeholder": "dead", "answer": "dead"}
        why = Delivery.objects.get(run_id=arrival.run_id, kind="answer").last_error
        assert why == f"HTTP {status}: BotNotInConversationRoster The bot is gone."
        assert len(teams.connector.log) == 2


def test_a_dead_answer_that_is_sent_again_posts_the_placeholder_it_needs(teams: Teams) -> None:
    arrival = answered(teams)
    teams.connector.faults = [Fault(status=403), Fault(status=403)]
    deliver_all(teams)
    teams.world.sql(
        "UPDATE entry_delivery SET state = 'pending', give_up_at = liyagent_now() + interval '1 day' "
        "WHERE kind = 'answer'"
    )
    deliver_all(teams)
    assert [it.text for it in teams.shown()] == [GROWN]
    assert teams.states(arrival)["answer"] == "delivered"


def test_the_channel_that_asks_for_a_pause_is_given_it(teams: Teams) -> None:
    arrival = answered(teams)
    teams.connector.faults = [Fault(status=429, headers={"retry-after": "1800"})]
    teams.deliver()
    ((pause,),) = teams.world.sql(
        "SELECT extract(epoch FROM next_at - liyagent_now()) FROM entry_delivery WHERE run_id = %s "
        "AND kind = 'placeholder'",
        arrival.run_id,
    )
    assert 1700 < pause <= 1800
    assert teams.deliver() == 0


def test_a_token_that_was_refused_is_fetched_anew(teams: Teams) -> None:
    answered(teams)
    teams.connector.faults = [Fault(status=401)]
    deliver_all(teams)
    assert teams.connector.tokens_given == 2
    assert [it.text for it in teams.shown()] == [GROWN]


def test_one_token_serves_many_replies(teams: Teams) -> None:
    for number in range(3):
        teams.say(f"number {number}", says("done"), conversation={"id": f"c{number}", "tenantId": teams.connector.tenant})  # fmt: skip
        teams.world.process().carry()
    deliver_all(teams)
    assert teams.connector.tokens_given == 1
    assert len(bearing(teams)) == 3


def test_without_its_secret_nothing_is_sent_and_the_delivery_says_so(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrival = answered(teams)
    monkeypatch.delenv("TEAMS_BOT_SECRET")
    teams.deliver()
    waiting = Delivery.objects.get(run_id=arrival.run_id, kind="placeholder")
    assert waiting.state == "pending"
    assert "TEAMS_BOT_SECRET is not set" in waiting.last_error
    assert teams.connector.log == []


def test_an_agent_that_may_not_take_it_answers_politely_and_tells_no_reason(teams: Teams) -> None:
    contain_agent("triage", actor="olga", reason="it leaked the plumtree")
    arrival = teams.say("look")
    assert arrival.state == "refused"
    deliver_all(teams)
    assert [it.text for it in teams.shown()] == [NOT_TAKEN]
    assert teams.world.audit("entry.refused")[0]["way"] == "teams"


def test_a_closed_channel_answers_politely(teams: Teams) -> None:
    Agent.objects.update(channels=["api"])
    assert teams.say("look").state == "refused"
    deliver_all(teams)
    assert [it.text for it in teams.shown()] == [NOT_TAKEN]


def test_a_run_that_failed_says_so_with_its_id_and_a_card(teams: Teams) -> None:
    arrival = teams.say("look", says(""))
    teams.world.process().carry()
    deliver_all(teams)
    (shown,) = teams.shown()
    assert shown.text == f"I could not finish this. (run {arrival.run_id})"
    assert str(arrival.run_id) in str(shown.card)


def test_a_run_that_was_stopped_or_interrupted_says_so(teams: Teams) -> None:
    stopped = teams.say("look", says("never"))
    stop_run(run_id=stopped.run_id, actor="olga", reason="enough")
    teams.world.process().carry()
    elsewhere = {"id": "a:other", "tenantId": teams.connector.tenant}
    interrupted = teams.say("look", says("never"), conversation=elsewhere)
    teams.world.sql(
        "UPDATE runs_run SET status = 'interrupted', ended_at = liyagent_now() WHERE id = %s",
        interrupted.run_id,
    )
    deliver_all(teams)
    assert [it.text for it in teams.shown()] == [
        f"This was stopped before I could answer. (run {stopped.run_id})",
        f"This was interrupted, and it will not go on. Please ask again. (run {interrupted.run_id})",
    ]


def test_an_answer_leads_to_its_run_where_people_can_reach_that(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, public_url="https://liyagent.example.com")
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    arrival = answered(teams)
    deliver_all(teams)
    (shown,) = teams.shown()
    assert shown.text == GROWN
    assert shown.card is not None
    page = f"https://liyagent.example.com/admin/runs/run/{arrival.run_id}/change/"
    assert [it["url"] for it in shown.card["actions"]] == [page]


def test_an_answer_too_long_for_teams_is_cut_and_says_so(teams: Teams) -> None:
    arrival = teams.say("look", says("é" * 40_000))
    teams.world.process().carry()
    deliver_all(teams)
    (shown,) = teams.shown()
    assert len(shown.text.encode()) < 21_000
    assert shown.text.endswith(f"The whole of it is kept as run {arrival.run_id}.)")


def test_a_bot_that_was_removed_leaves_a_dead_letter(teams: Teams) -> None:
    arrival = answered(teams)
    TeamsBot.objects.all().delete()
    deliver_all(teams)
    assert set(teams.states(arrival).values()) == {"dead"}


def test_a_bot_without_its_secret_holds_up_no_other_bot(teams: Teams) -> None:
    arrivals = [teams.say(f"message {number}") for number in range(3)]
    TeamsBot.objects.create(
        **{
            **{it.attname: getattr(teams.bot, it.attname) for it in TeamsBot._meta.fields if it.attname != "id"},
            "key": "locked",
            "app_id": "00000000-0000-0000-0000-00000000000a",
            "secret_env": "NOBODY_SET_THIS",
        }
    )  # fmt: skip
    ids = [it.run_id for it in arrivals[:2]]
    TeamsTurn.objects.filter(run_id__in=ids).update(bot_key="locked")
    assert teams.deliver() == 3
    assert [teams.states(it)["placeholder"] for it in arrivals] == ["pending", "pending", "delivered"]  # fmt: skip
