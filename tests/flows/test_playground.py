"""The playground: an operator asks, watches, comes back; each form is one run, and nothing is started by looking (CR-02)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.agents.models import Agent
from runs.models import Run
from tests.flows.carrying import carrying
from tests.flows.conftest import OPERATOR, READER, api_of, make_user
from tests.flows.serving import Stream, serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_go_on import failed

world = world_of.world
PAGE = "/admin/playground/"


@pytest.fixture
def browse(world: World) -> Callable[..., Client]:
    """Make a browser of one who holds permissions."""

    def made(name: str, *permissions: str, **facts: Any) -> Client:
        user = make_user(name, *permissions)
        User.objects.filter(pk=user.pk).update(is_staff=True)
        client = Client(**facts)
        client.force_login(user)
        return client

    return made


def ask(client: Client, task: str, **fields: str) -> Any:
    """Fill in the form as it is shown, and send it."""
    shown = client.get(PAGE).content.decode()
    (nonce,) = re.findall(r'name="nonce" value="([^"]+)"', shown)
    return client.post(PAGE, {"agent": "triage", "task": task, "nonce": nonce, **fields})


@pytest.mark.promise("CR-02")
def test_an_operator_asks_and_watches_the_run_by_its_address(
    world: World, browse: Callable[..., Client]
) -> None:
    rita = browse("rita", *READER)
    answer = ask(rita, "look after it")
    run = Run.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}{run.id}/")
    assert (run.entry, run.started_by) == ("playground", "rita")
    page = rita.get(answer["Location"]).content.decode()
    assert "look after it" in page
    assert "It is queued" in page
    assert f'data-stream="/api/runs/{run.id}/stream"' in page
    world.model.steps = [calls(("v/look", {"n": 1}), text="I look."), says("all is well")]
    assert world.process().carry().status == "answered"
    now = rita.get(f"{PAGE}{run.id}/now/")
    assert now["X-Liyagent-Ended"] == "yes"
    text = now.content.decode()
    assert "<html" not in text
    for said in ("It has answered", "all is well", "I look.", "v/look"):
        assert said in text
    again = browse("otto", *OPERATOR).get(answer["Location"]).content.decode()
    assert "It has answered" in again
    assert "all is well" not in again
    assert Run.objects.count() == 1


def test_a_form_sent_twice_is_one_run_and_changed_another(
    world: World, browse: Callable[..., Client]
) -> None:
    olga = browse("olga", *OPERATOR)
    first = ask(olga, "one", nonce="n-1")
    assert ask(olga, "one", nonce="n-1")["Location"] == first["Location"]
    assert ask(olga, "two", nonce="n-1")["Location"] != first["Location"]
    assert Run.objects.count() == 2


def test_nothing_is_started_by_looking_or_without_the_forms_token(
    world: World, browse: Callable[..., Client]
) -> None:
    olga = browse("olga", *OPERATOR, enforce_csrf_checks=True)
    assert olga.get(PAGE, {"agent": "triage", "task": "x"}).status_code == 200
    assert olga.post(PAGE, {"agent": "triage", "task": "x", "nonce": "n"}).status_code == 403
    assert not Run.objects.exists()


def test_who_may_not_operate_is_shown_no_form_and_who_may_not_see_runs_watches_none(
    world: World, browse: Callable[..., Client]
) -> None:
    run = world.start(says("x"), entry="playground")
    vera = browse("vera", "runs.view_run")
    assert vera.get(PAGE).status_code == 403
    assert vera.get(f"{PAGE}{run.id}/").status_code == 200
    blind = browse("bill", "agents.operate")
    assert blind.get(PAGE).status_code == 200
    for address in (f"{PAGE}{run.id}/", f"{PAGE}{run.id}/now/"):
        assert blind.get(address).status_code == 403
        assert Client().get(address).status_code == 302
    assert vera.get(f"{PAGE}01a22aa6-24a9-79f2-bf4e-8833694fa02d/").status_code == 404


def test_only_agents_that_permit_it_are_offered_and_what_is_refused_is_told(
    world: World, browse: Callable[..., Client]
) -> None:
    olga = browse("olga", *OPERATOR)
    assert 'value="triage"' in olga.get(PAGE).content.decode()
    told = olga.post(PAGE, {"agent": "triage", "task": " ", "nonce": "n"})
    assert b"Nothing was started" in told.content
    assert olga.post(PAGE, {"agent": "nobody", "task": "x", "nonce": "n"}).status_code == 200
    Agent.objects.update(channels=["api"])
    shown = olga.get(PAGE).content.decode()
    assert "No agent can be asked here" in shown
    assert not Run.objects.exists()


def test_a_run_that_waits_for_a_person_leads_to_its_request(
    world: World, browse: Callable[..., Client]
) -> None:
    Agent.objects.update(write_posture="hold", may_wait=True)
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"), entry="playground")
    assert world.process().carry().status == "waiting"
    dora = browse("dora", *OPERATOR, "approvals.view_approval")
    text = dora.get(f"{PAGE}{run.id}/now/").content.decode()
    assert "waits for a person to decide about v/keyed" in text
    assert "Look at the request, and decide" in text


def test_hostile_words_are_shown_and_not_obeyed(
    world: World, browse: Callable[..., Client]
) -> None:
    hostile = "<img src=x onerror=alert(1)>\u202eevil"
    rita = browse("rita", *READER)
    answer = ask(rita, hostile)
    world.model.steps = [says(hostile)]
    world.process().carry()
    text = rita.get(answer["Location"]).content.decode()
    assert "<img src=x" not in text
    assert "&lt;img" in text
    assert "\u202e" not in text


def test_over_the_api_too_and_its_stream_is_told_live(world: World) -> None:
    token = api_of(make_user("rita", *READER)).token
    with serving() as port:
        api = api_of(User.objects.get(username="rita"))
        started = api.post("/api/agents/triage/playground", {"task": "look"})
        assert started.status == 202
        stream = Stream(port=port, token=token)
        assert stream.open(f"/api/runs/{started.data['id']}/stream") == 200
        world.model.steps = [calls(("v/look", {"n": 1})), says("all is well")]
        with carrying():
            kinds = [it.event for it in stream.events()]
        stream.close()
    assert kinds[-1] == "end"
    assert {"step", "tool.call", "run.ended"} <= set(kinds)
    assert Run.objects.get().entry == "playground"
    Agent.objects.update(channels=["api"])
    assert api.post("/api/agents/triage/playground", {"task": "look"}).status == 403


def test_words_of_others_are_not_ones_own_for_being_started_in_ones_name(
    world: World, browse: Callable[..., Client]
) -> None:
    """A bot's or a trigger's runs act as whoever is named there; what was said came from others."""
    olga = browse("olga", *OPERATOR)
    for entry in ("teams", "webhook", "ticket", "cron"):
        run = world.start(
            says("told in confidence"), task="my password", entry=entry, started_by="olga"
        )
        world.process().carry()
        for address in (f"{PAGE}{run.id}/", f"{PAGE}{run.id}/now/"):
            shown = olga.get(address).content.decode()
            assert "my password" not in shown
            assert "told in confidence" not in shown


def test_who_goes_on_from_anothers_run_does_not_read_it_so(
    world: World, browse: Callable[..., Client]
) -> None:
    asked = "the code of the safe is 4711"
    first = failed(world, task=asked)
    olga = browse("olga", *OPERATOR)
    olga.post(f"/admin/runs/run/{first.id}/go-on/", {"word": "say all that was said"})
    second = Run.objects.get(continues=first.id)
    assert second.started_by == "olga"
    world.model.steps = [says(f"it was: {asked}")]
    world.process().carry()
    for address in (f"{PAGE}{second.id}/", f"{PAGE}{second.id}/now/"):
        assert asked not in olga.get(address).content.decode()
    assert asked in browse("rita", *READER).get(f"{PAGE}{second.id}/").content.decode()
