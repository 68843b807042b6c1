"""Going on from a run that ended: over the API, in the console and at the shell (CR-02)."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from runs.errors import RunAnswered
from runs.models import Run
from tests.flows.carrying import carrying
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_go_on import CUT, failed, unknown

world = world_of.world


@pytest.fixture
def rita(world: World) -> Api:
    """One who may start and see runs, and read words."""
    return api_of(make_user("rita", *READER))


@pytest.fixture
def console(world: World) -> Client:
    """A browser of one who may operate."""
    user = make_user("olga", *READER)
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def resume(api: Api, run: Run, body: Any = None, query: str = "", **headers: str) -> Any:
    return api.post(f"/api/runs/{run.id}/resume{query}", body or {}, **headers)


@pytest.mark.promise("CR-02")
def test_a_run_is_gone_on_from_and_both_show_it(world: World, rita: Api) -> None:
    first = failed(world, calls(("v/look", {"n": 1})))
    world.model.steps = [says("all done")]
    with carrying():
        answer = resume(rita, first, {"word": "be quick"}, "?wait=10")
    assert answer.status == 200
    assert (answer.data["answer"], answer.data["continues"]) == ("all done", str(first.id))
    assert answer.data["started_by"] == "rita"
    told = rita.get(f"/api/runs/{first.id}").data
    assert told["continued_by"] == [answer.data["id"]]
    assert told["continues"] is None
    again = resume(rita, first)
    assert (again.status, again.data["code"]) == (409, "run.already_continued")
    assert answer.data["id"] in again.data["detail"]


def test_a_key_finds_what_it_started_and_is_refused_for_another_body(
    world: World, rita: Api
) -> None:
    first = failed(world)
    key = {"idempotency-key": "k-1"}
    started = resume(rita, first, **key)
    assert started.status == 202
    again = resume(rita, first, **key)
    assert (again.status, again.data) == (202, started.data)
    assert again.headers["Idempotent-Replay"] == "true"
    other = resume(rita, first, {"word": "other"}, **key)
    assert (other.status, other.data["code"]) == (409, "run.start_key_reused")
    assert Run.objects.count() == 2


def test_writes_of_unknown_outcome_are_listed_in_the_problem(world: World, rita: Api) -> None:
    first, call = unknown(world)
    answer = resume(rita, first)
    assert (answer.status, answer.data["code"]) == (409, "run.unknown_writes")
    assert answer.data["errors"][0]["field"] == f"calls.{call.id}"
    assert resume(rita, first, {"despite_unknown": True}).status == 202


@pytest.mark.parametrize(
    ("body", "status"),
    [([], 400), ({"wrod": "x"}, 400), ({"word": 7}, 400), ({"despite_unknown": "perhaps"}, 400)],
)
def test_what_cannot_be_used_is_refused(world: World, rita: Api, body: Any, status: int) -> None:
    first = failed(world)
    assert rita.post(f"/api/runs/{first.id}/resume", body).status == status
    assert Run.objects.count() == 1


def test_who_may_not_operate_goes_on_from_nothing(world: World) -> None:
    first = failed(world)
    viewer = api_of(make_user("vera", "runs.view_run"))
    assert resume(viewer, first).status == 403
    blind = api_of(make_user("otto", "agents.operate"))
    assert resume(blind, first).status == 403
    assert Run.objects.count() == 1


def test_the_page_of_a_run_leads_to_going_on_and_both_pages_name_the_other(
    world: World, console: Client
) -> None:
    first = failed(world)
    page = f"/admin/runs/run/{first.id}/change/"
    address = f"/admin/runs/run/{first.id}/go-on/"
    assert address in console.get(page).content.decode()
    asked = console.get(address)
    assert b"A word for the agent" in asked.content
    assert Run.objects.count() == 1
    done = console.post(address, {"word": "be quick"}, follow=True)
    second = Run.objects.get(continues=first.id)
    assert f"/admin/runs/run/{first.id}/change/" in done.content.decode()
    assert second.started_by == "olga"
    assert str(second.id) in console.get(page).content.decode()
    again = console.post(address, {"word": ""}, follow=True)
    assert b"Nothing was started" in again.content
    assert Run.objects.count() == 2


def test_the_page_asks_that_writes_of_unknown_outcome_are_known(
    world: World, console: Client
) -> None:
    first, call = unknown(world)
    address = f"/admin/runs/run/{first.id}/go-on/"
    assert call.step_key in console.get(address).content.decode()
    assert console.post(address, {"word": ""}).status_code == 200
    assert Run.objects.count() == 1
    assert console.post(address, {"word": "", "despite_unknown": "on"}).status_code == 302
    assert Run.objects.count() == 2


def test_at_the_shell_too(world: World) -> None:
    first = failed(world)
    world.model.steps = [says("all done")]
    said = StringIO()
    with carrying():
        call_command("runs", "resume", str(first.id), "--word", "be quick", "--wait", stdout=said)
    run_id, answer = said.getvalue().split("\n", 1)
    assert answer.strip() == "all done"
    told = StringIO()
    call_command("runs", "show", run_id, stdout=told)
    assert str(first.id) in told.getvalue()
    with pytest.raises(RunAnswered):
        call_command("runs", "resume", run_id)


def test_one_that_failed_again_says_which_to_go_on_from(world: World, rita: Api) -> None:
    first = failed(world)
    second = resume(rita, first).data["id"]
    world.model.steps = [calls(("v/look", {"n": 1})), CUT]
    world.process("b").carry()
    answer = resume(rita, first)
    assert answer.status == 409
    assert second in answer.data["detail"]
