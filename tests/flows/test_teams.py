"""Teams end to end over real HTTP: the local connector speaks to the served application and is spoken to by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.teams.words import PLACEHOLDER
from runs.models import Run
from runs.rounds import ROUNDS, go_when_rung, ring
from tests.fakes.teams_connector import Shown
from tests.flows.carrying import carrying
from tests.flows.conftest import make_user
from tests.flows.serving import serving
from tests.unit.entry.teams import conftest as at_teams
from tests.unit.entry.teams.conftest import Teams, known_as
from tests.unit.runs.carrying import conftest as at_runs
from tests.unit.runs.carrying.conftest import calls, says

world = at_runs.world
teams = at_teams.teams
AT_ONCE_SECONDS = 2.0


@contextmanager
def handing_on() -> Iterator[None]:
    """What each process does again and again for the ways in, until the block ends."""
    ended = threading.Event()
    rounds = {name: ROUNDS[name] for name in ("arrivals", "teams deliveries")}
    bells = {name: threading.Event() for name in rounds}
    threads = [
        threading.Thread(target=partial(go_when_rung, name, it, bell=bells[name], ended=ended))
        for name, it in rounds.items()
    ]
    threads.append(threading.Thread(target=partial(ring, rounds, bells, ended=ended)))
    for it in threads:
        it.start()
    try:
        yield
    finally:
        ended.set()
        for it in threads:
            it.join()


@pytest.fixture
def app(teams: Teams) -> Iterator[str]:
    """The address of the application, served, with a runner and the rounds beside it."""
    with serving() as port, carrying(), handing_on():
        yield f"http://127.0.0.1:{port}"


def until(holds: Callable[[], Any], *, seconds: float = 20) -> Any:
    """Return what is asked for, once it is so."""
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return found


def texts(teams: Teams) -> list[str]:
    return [it.text for it in teams.shown()]


@pytest.mark.promise("CR-04")
@pytest.mark.field("FL-72")
def test_a_message_is_answered_at_once_and_its_reply_takes_the_placeholders_place(
    teams: Teams, app: str
) -> None:
    teams.world.model.steps = [says("cleaned /var")]
    message = teams.channel.message("<at>Liyagent</at> disk full on db-1")
    # As when it is installed; a process that has just begun fetches keys and makes its pools.
    assert teams.channel.send(app, teams.channel.activity("installationUpdate")).json() == {}
    answer = teams.channel.send(app, message)
    assert answer.status_code == 200
    assert answer.seconds < AT_ONCE_SECONDS
    teams.channel.resend_later(app, message, seconds=0.1)
    until(lambda: texts(teams) == ["cleaned /var"])
    again = teams.channel.send(app, message)
    assert again.status_code == 200
    for thread in teams.channel.threads:
        thread.join()
    assert Run.objects.count() == Arrival.objects.count() == 1
    (shown,) = teams.shown()
    assert [it["text"] for it in shown.forms] == [PLACEHOLDER, "cleaned /var"]


@pytest.mark.field("FL-72")
def test_one_activity_from_many_sides_at_once_is_one_run_and_one_reply(
    teams: Teams, app: str
) -> None:
    teams.world.model.steps = [says("done")]
    message = teams.channel.message("look")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: teams.channel.send(app, message), range(16)))
    assert {it.status_code for it in answers} == {200}
    assert len({it.json()["id"] for it in answers}) == 1
    until(lambda: texts(teams) == ["done"])
    assert Run.objects.count() == 1
    assert Delivery.objects.count() == 2


@pytest.mark.promise("CR-04")
def test_a_write_is_approved_by_a_button_and_the_card_is_brought_up_to_date(
    teams: Teams, app: str
) -> None:
    Agent.objects.update(write_posture="hold", may_wait=True)
    make_user("kim", "approvals.decide")
    known_as("kim")
    teams.world.model.steps = [calls(("v/keyed", {"title": "disk 4"})), says("filed")]
    teams.channel.send(app, teams.channel.message("file it"))
    card: Shown = until(lambda: next((it for it in teams.shown() if it.buttons), None))
    button = next(it for it in card.buttons if it["verb"] == "approve")
    presses = [teams.channel.press(button, card=card.id, reason="go on") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda it: teams.channel.send(app, it), presses))
    assert max(it.seconds for it in answers) < AT_ONCE_SECONDS
    assert [it.json()["type"] for it in answers] == ["application/vnd.microsoft.card.adaptive"] * 4
    until(lambda: texts(teams)[0] == "filed")
    until(lambda: card.buttons == [])
    assert Approval.objects.get().decided_by == "kim"
    assert len(teams.world.audit("agent.approval.approved")) == 1
    assert len(teams.world.vendor.of("keyed")) == 1


def test_what_is_refused_is_a_problem_over_the_wire(teams: Teams, app: str) -> None:
    message = teams.channel.message("look")
    refused = {
        401: teams.channel.send(app, message, token="nonsense"),
        403: teams.channel.send(app, {**message, "channelId": "webchat"}),
        400: teams.channel.send(app, {**message, "text": ""}),
        413: teams.channel.send(app, {**message, "text": "x" * 2_500_000}),
    }
    for status, answer in refused.items():
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
    assert not Arrival.objects.exists()
