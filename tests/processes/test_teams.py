"""A turn of Teams over the death of its process: one run, one reply, its writes once (CR-04, CR-08)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import pytest

from tests.fakes.teams_channel import PERSON, Answered, Channel
from tests.fakes.teams_connector import SECRET, Fault, Shown, TeamsConnector
from tests.processes.asking import POSTURE, tokens
from tests.processes.place import WRITES_A_RUN, Place, make_whole
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

__all__ = ["tokens"]
pytestmark = [pytest.mark.timeout(300)]

ENDED_TEXT = "All is filed."
AHEAD = "SELECT extract(epoch FROM liyagent_now() - clock_timestamp())::float AS n"
# What another process finds only once the lease of the dead one's claim is over: a minute, not waited for here.
CLAIMS_LAPSE = "UPDATE entry_delivery SET claimed_until = liyagent_now(), next_at = liyagent_now() WHERE state = 'pending' RETURNING id"  # fmt: skip
CARDS = "SELECT count(*)::int AS n FROM entry_delivery WHERE kind = 'approval' AND state = 'delivered' AND run_id = %s"
APPROVED = "SELECT count(*)::int AS n FROM audit_auditrow WHERE action = 'agent.approval.approved' AND run_id = %s"
SENDING = "SELECT count(*)::int AS n FROM entry_delivery WHERE state <> 'delivered'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTeams:
    """The place, and the channel that speaks to both of its processes."""

    place: Place
    connector: TeamsConnector
    channel: Channel

    def say(self, text: str, *, at: str, again: bool = False) -> Answered:
        """Say something to process `at`; the same text is the same activity."""
        message = self.channel.message(text, id=f"of-{text.replace(' ', '-')}")
        answer = self.channel.send(self.place.stage.url(at), message)
        assert answer.status_code == 200, answer.content
        return answer

    def replies(self) -> list[Shown]:
        """The messages that bear an answer, or did."""
        return self.connector.replies()

    def asking(self) -> list[Shown]:
        """The cards that can be pressed."""
        return [it for it in self.connector.messages() if it.buttons]

    def wait_for_cards(self, run: UUID, count: int) -> None:
        """Return once so many were posted whose id is kept: of one in doubt another would be posted."""
        self.place.until(lambda: self.place.one(CARDS, run) == count, "a card", seconds=60)

    def wait_for_settling(self, card: Shown) -> None:
        """Return once it cannot be pressed any more."""
        self.place.until(lambda: not card.buttons, "its settling", seconds=60)

    def wait_for_replies(self, count: int = 1) -> None:
        """Return once so many stand there."""
        self.place.until(lambda: len(self.replies()) >= count, "a reply", seconds=40)


@pytest.fixture
def at_teams(place: Place) -> Iterator[AtTeams]:
    """Both processes know the bot's secret; the channel's tokens follow the database's clock."""
    stage = place.stage
    stage.env["TEAMS_BOT_SECRET"] = SECRET
    with TeamsConnector() as connector:
        flags = {
            "agent": AGENTS["keyed"],
            "app-id": connector.app_id,
            "tenant": connector.tenant,
            "secret-env": "TEAMS_BOT_SECRET",
            "started-by": "admin",
            "metadata-url": connector.metadata_url,
            "token-url": connector.token_url,
        }
        stage.manage("teams", "save", "desk", *(f"--{name}={it}" for name, it in flags.items()))
        for name in ("A", "B"):
            stage.signal(name, signal.SIGKILL)
            stage.wait_gone(name)
        make_whole(stage)
        channel = connector.channel(conversation=f"a:{connector.port}")
        channel.ahead = float(place.one(AHEAD))
        yield AtTeams(place=place, connector=connector, channel=channel)


@pytest.mark.promise("CR-04")
@pytest.mark.promise("CR-08")
@pytest.mark.field("FL-72")
def test_a_turn_whose_process_is_killed_is_one_run_and_one_reply(at_teams: AtTeams) -> None:
    first = at_teams.say("disk full", at="A")
    run = UUID(first.json()["id"])
    at_teams.place.wait_for_requests("incident", [run])
    assert at_teams.say("disk full", at="B").json() == first.json()
    at_teams.place.stage.signal("A", signal.SIGKILL)
    at_teams.place.wait_for_ends([run])
    at_teams.place.watch.rows(CLAIMS_LAPSE)
    at_teams.wait_for_replies()
    assert at_teams.say("disk full", at="B").json() == first.json()
    (reply,) = at_teams.replies()
    assert reply.text == ENDED_TEXT
    assert_kept(at_teams.place.judged([run], asked=WRITES_A_RUN))


@pytest.mark.promise("CR-08")
@pytest.mark.field("FL-74")
def test_a_process_killed_while_the_connector_has_its_answer_leaves_one_reply(
    at_teams: AtTeams,
) -> None:
    at_teams.place.stage.signal("B", signal.SIGKILL)
    at_teams.place.stage.wait_gone("B")
    # Accepted, and answered so late that the process dies before it hears of it.
    at_teams.connector.faults = [Fault(method=it, accepts=True, seconds=3) for it in ("POST", "PUT")]  # fmt: skip
    run = UUID(at_teams.say("who has it", at="A").json()["id"])
    at_teams.wait_for_replies()
    at_teams.place.stage.signal("A", signal.SIGKILL)
    at_teams.place.stage.wait_gone("A")
    make_whole(at_teams.place.stage)
    at_teams.place.watch.rows(CLAIMS_LAPSE)
    at_teams.place.until(lambda: at_teams.place.one(SENDING) == 0, "the end of all sending")
    assert [it.text for it in at_teams.replies()] == [ENDED_TEXT]
    assert_kept(at_teams.place.judged([run], asked=WRITES_A_RUN))


@pytest.fixture
def held(place: Place) -> Iterator[None]:
    """The agent asks before it writes; whoever speaks to the bot is xena, who may decide."""
    place.watch.rows(POSTURE, ["hold", True, AGENTS["keyed"]])
    place.stage.manage("teams", "person", PERSON, "xena")
    yield
    place.stage.manage("teams", "forget", PERSON)
    place.watch.rows(POSTURE, ["allow", False, AGENTS["keyed"]])


@pytest.mark.promise("CR-04")
@pytest.mark.field("FL-72")
@pytest.mark.usefixtures("tokens", "held")
def test_a_request_whose_process_is_killed_is_decided_at_the_other_by_its_button_once(
    at_teams: AtTeams,
) -> None:
    place = at_teams.place
    run = UUID(at_teams.say("file it", at="A").json()["id"])
    for number in range(1, WRITES_A_RUN + 1):
        at_teams.wait_for_cards(run, number)
        if number == 1:
            place.stage.signal("A", signal.SIGKILL)
            place.stage.wait_gone("A")
            place.watch.rows(CLAIMS_LAPSE)
        (card,) = at_teams.asking()
        button = next(it for it in card.buttons if it["verb"] == "approve")
        # As the channel repeats it: the same button, each time with an id of its own.
        presses = [at_teams.channel.press(button, card=card.id, reason="go on") for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(partial(at_teams.channel.send, place.stage.url("B")), presses))
        assert {it.status_code for it in answers} == {200}
        at_teams.wait_for_settling(card)
    place.wait_for_ends([run], seconds=60)
    at_teams.wait_for_replies()
    place.until(lambda: place.one(SENDING) == 0, "the end of all sending", seconds=40)
    assert [it.text for it in at_teams.replies()] == [ENDED_TEXT]
    assert len([it for it in at_teams.connector.messages() if it.card]) == WRITES_A_RUN
    assert place.one(APPROVED, run) == WRITES_A_RUN
    assert_kept(place.judged([run], asked=WRITES_A_RUN))
    assert place.effects([run])["incident"] == WRITES_A_RUN
