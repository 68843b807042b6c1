"""Other agents ask ours, by the names of both versions, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.entry.a2a.models import PushConfig
from runs.models import Run
from runs.stop import stop_run
from tests.fakes.a2a_client import A2aClient, Refused
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says

world = world_of.world
HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture(params=[False, True], ids=["1.0", "0.3"])
def client(request: pytest.FixtureRequest, port: int) -> A2aClient:
    """ann's agent, in either version."""
    token = api_of(make_user("ann", "agents.operate")).token
    return A2aClient(port=port, token=token, is_old=request.param)


@pytest.fixture
def decider(client: A2aClient) -> A2aClient:
    """dora's agent, in the same version: she may decide, and see everybody's tasks."""
    dora = make_user("dora", "agents.operate", "approvals.decide", "runs.view_run")
    return A2aClient(port=client.port, token=api_of(dora).token, is_old=client.is_old)


def as_task(client: A2aClient, told: dict[str, Any]) -> dict[str, Any]:
    """What a stream began with."""
    task: dict[str, Any] = told if client.is_old else told["task"]
    return task


def moves(client: A2aClient, told: list[tuple[str, Any]]) -> list[str]:
    """The states that a stream told of, one after the other, an artifact as `artifact`."""
    found: list[str] = []
    for _, it in told:
        event = it if client.is_old else next(iter(it.values()))
        state = "artifact" if "artifact" in event else client.state(event)
        if not found or found[-1] != state:
            found.append(state)
    return found


@pytest.mark.promise("CR-02")
def test_whoever_waits_is_answered_with_the_completed_task(world: World, client: A2aClient) -> None:
    world.model.steps = [says("all is well")]
    with carrying():
        task = client.send(client.message("look after it"))
    assert client.state(task) == "completed"
    assert task["artifacts"][0]["parts"][0]["text"] == "all is well"
    assert client.get(task["id"]) == task


def test_a_stream_tells_of_each_thing_until_the_end(world: World, client: A2aClient) -> None:
    world.model.steps = [calls(("v/read", {"name": "x"})), says("found")]
    stream = client.stream("stream", {"message": client.message("look")})
    told = [next(stream)]
    with carrying():
        told += stream
    assert moves(client, told)[-2:] == ["artifact", "completed"]
    numbers = [int(number) for number, _ in told if number]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    task = as_task(client, told[0][1])
    assert client.state(client.get(task["id"])) == "completed"


@pytest.mark.field("FL-58")
def test_a_task_waits_for_a_person_whoever_hung_up_and_goes_on_when_one_has_decided(
    world: World, client: A2aClient, decider: A2aClient
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]
    message = client.message("write it")
    with carrying():
        client.hang_up(message)
        task = client.send(message)
        assert client.state(task) == "input-required"
        client.hang_up(client.message("and?", taskId=task["id"]))
        shown = decider.get(task["id"])
        assert client.state(shown) == "input-required"
        done = decider.send(decider.decision(shown, "approve", "it is ours"))
        assert decider.state(done) == "completed"
    assert client.get(task["id"])["artifacts"][0]["parts"][0]["text"] == "done"
    assert len(world.vendor.rows) == Run.objects.count() == 1


def test_who_may_not_decide_is_told_so_and_the_task_waits_on(
    world: World, client: A2aClient, decider: A2aClient
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]
    with carrying():
        task = client.send(client.message("write it"))
        with pytest.raises(Refused, match=r"approvals\.decide") as refused:
            client.send(client.decision(task, "approve", "mine"))
        assert refused.value.code == -32004
        with pytest.raises(Refused, match="data part") as refused:
            decider.send(decider.message("yes, please", taskId=task["id"]))
        assert refused.value.code == -32602
        assert client.state(client.get(task["id"])) == "input-required"
        done = decider.send(decider.decision(task, "reject", "wrong host"))
    assert decider.state(done) == "completed"
    assert not world.vendor.rows


def test_a_stream_that_broke_goes_on_where_it_broke(world: World, client: A2aClient) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]
    stream = client.stream("stream", {"message": client.message("write it")})
    told = [next(stream)]
    with carrying():
        told += stream
        assert moves(client, told)[-1] == "input-required"
        task = as_task(client, told[0][1])
        last = [number for number, _ in told if number][-1]
        follows = client.stream("subscribe", {"id": task["id"]}, Last_Event_ID=last)
        assert client.state(as_task(client, next(follows)[1])) == "input-required"
        stop_run(run_id=task["id"], actor="olga", reason="enough")
        rest = list(follows)
    assert moves(client, rest)[-1] == "canceled"
    assert all(int(number) > int(last) for number, _ in rest if number)
    with pytest.raises(Refused) as refused:
        list(client.stream("subscribe", {"id": task["id"]}))
    assert refused.value.code == -32004


@pytest.mark.field("FL-80")
def test_canceled_twice_a_task_is_canceled_once(world: World, client: A2aClient) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]
    with carrying():
        task = client.send(client.message("write it"))
        stopped = client.cancel(task["id"])
        assert client.state(stopped) == "canceled"
        assert client.cancel(task["id"]) == client.get(task["id"]) == stopped
    assert (len(world.model.asked), world.vendor.rows) == (1, [])


def test_an_agents_card_leads_to_where_it_is_asked(world: World, client: A2aClient) -> None:
    card = client.card()
    urls = {it["url"] for it in card["supportedInterfaces"]} | {card["url"]}
    assert urls == {f"http://127.0.0.1:{client.port}/a2a/triage"}
    assert [it["protocolVersion"] for it in card["supportedInterfaces"]] == ["1.0", "0.3"]
    name = "agent/getAuthenticatedExtendedCard" if client.is_old else "GetExtendedAgentCard"
    extended = client.call(name, {})
    assert {it["id"] for it in extended["skills"]} > {it["id"] for it in card["skills"]}


def test_the_console_lists_who_is_told_and_nobodys_secrets(world: World, client: A2aClient) -> None:
    config = {"url": "https://agents.example.com/told", "token": "plumtree"}
    name = "pushNotificationConfig" if client.is_old else "taskPushNotificationConfig"
    task = client.send(client.message("look"), waits=False, **{name: config})
    console = Client()
    console.force_login(User.objects.create_superuser("root"))
    shown = console.get("/admin/a2a/pushconfig/", {"q": task["id"]}).content.decode()
    assert config["url"] in shown
    row = PushConfig.objects.get()
    shown += console.get(f"/admin/a2a/pushconfig/{row.pk}/change/").content.decode()
    assert "plumtree" not in shown
    assert console.get("/admin/a2a/pushconfig/add/").status_code == 403
    runs = console.get("/admin/runs/run/", {"entry": "a2a"})
    assert task["id"] in runs.content.decode()
