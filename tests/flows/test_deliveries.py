"""What came in and what is owed for it: over the API and at the shell; what was given up is sent again or closed there."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.access.keys import DatabaseNow
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.paging import write_cursor
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.models import Delivery
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World

world = world_of.world
KINDS = ("placeholder", "answer")


def come(number: int, *, state: str = "dead", way: str = "teams", **facts: Any) -> str:
    """An arrival with two deliveries, the answer in `state`; return the run's id."""
    arriving: dict[str, Any] = {
        "source": "desk",
        "agent_key": "triage",
        "started_by": "olga",
        "words": {"task": "the secret is plumtree"},
        **facts,
    }
    owed = [Owed(kind=it, address={"conversation": "c-1"}) for it in KINDS]
    arrived = arrive(Arriving(way=way, delivery_id=f"d-{number}", owed=owed, **arriving))
    Delivery.objects.filter(run_id=arrived.run_id, kind="answer").update(
        state=state, last_error="HTTP 404: gone", attempts=3, settled_at=DatabaseNow()
    )
    return str(arrived.run_id)


def dead_id() -> int:
    return Delivery.objects.get(state="dead").id


def test_what_came_in_is_told_with_what_is_owed_for_it(operator: Api) -> None:
    run_id = come(1)
    told = operator.get(f"/api/arrivals/{run_id}")
    assert told.status == 200
    assert (told.data["way"], told.data["source"], told.data["agent"]) == (
        "teams",
        "desk",
        "triage",
    )
    assert [(it["kind"], it["state"]) for it in told.data["deliveries"]] == [
        ("placeholder", "waiting"),
        ("answer", "dead"),
    ]
    answer = told.data["deliveries"][1]
    assert (answer["last_error"], answer["attempts"]) == ("HTTP 404: gone", 3)
    assert (answer["source"], answer["agent"]) == ("desk", "triage")
    assert operator.get(f"/api/deliveries/{answer['id']}").data == answer
    assert "plumtree" not in str(told.data)


def test_lists_are_narrowed_and_paged(operator: Api) -> None:
    runs = [come(number) for number in range(3)]
    other = come(9, state="unconfirmed", way="a2a", source="bob", agent_key="other")

    def runs_of(path: str) -> list[str]:
        answer = operator.get(path)
        assert answer.status == 200, answer.data
        (rows,) = (value for name, value in answer.data.items() if name != "next")
        return [it["run_id"] for it in rows]

    assert runs_of("/api/arrivals") == [other, *reversed(runs)]
    assert runs_of("/api/arrivals?way=a2a") == [other]
    assert runs_of("/api/arrivals?way=teams&source=desk&delivery_id=d-1") == [runs[1]]
    assert runs_of("/api/arrivals?agent=other&state=received") == [other]
    assert runs_of("/api/arrivals?state=refused") == []
    assert runs_of("/api/deliveries?state=dead") == [*reversed(runs)]
    assert runs_of("/api/deliveries?state=given_up") == [other, *reversed(runs)]
    assert runs_of("/api/deliveries?state=given_up&source=bob") == [other]
    assert runs_of("/api/deliveries?state=given_up&agent=triage&way=teams") == [*reversed(runs)]
    assert runs_of(f"/api/deliveries?run={runs[0]}") == [runs[0]] * 2
    for path in ("/api/arrivals?limit=2", "/api/deliveries?state=given_up&limit=2", "/api/deliveries?limit=3&way=teams"):  # fmt: skip
        found, more = [], path
        while more:
            answer = operator.get(more)
            (rows,) = (value for name, value in answer.data.items() if name != "next")
            found += [it["run_id"] for it in rows]
            more = answer.data["next"]
        assert found == runs_of(path.replace("limit=2", "limit=99").replace("limit=3", "limit=99"))
        assert len(found) in {4, 6}


@pytest.mark.parametrize(
    "asked",
    [
        "arrivals?state=dead", "arrivals?agent=", "arrivals?delivery_id=d-1", "arrivals?limit=0", "arrivals?run=1",
        "arrivals?cursor=x", f"arrivals?cursor={write_cursor(['2026-01-01T00:00:00+14:00', 'x'])}",
        "deliveries?state=gone", "deliveries?run=7", "deliveries?cursor=x", f"deliveries?cursor={write_cursor(['9' * 19])}",
        "deliveries?nothing=1",
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_a_problem(operator: Api, asked: str) -> None:
    answer = operator.get(f"/api/{asked}")
    assert (answer.status, answer.data["code"]) == (400, "input.bad")


def test_what_is_not_there_is_not_found(operator: Api) -> None:
    nobody = "00000000-0000-7000-8000-000000000000"
    assert operator.get(f"/api/arrivals/{nobody}").data["code"] == "arrival.not_found"
    for number in (7, 10**30):
        assert operator.get(f"/api/deliveries/{number}").data["code"] == "delivery.not_found"
        again = operator.post(f"/api/deliveries/{number}/send-again", {})
        assert (again.status, again.data["code"]) == (404, "delivery.not_found")


def test_a_dead_letter_is_sent_again_once(operator: Api) -> None:
    come(1)
    path = f"/api/deliveries/{dead_id()}/send-again"
    due = operator.post(path, {})
    assert (due.status, due.data["state"]) == (200, "pending")
    second = operator.post(path, {})
    assert (second.status, second.data["code"]) == (409, "delivery.state")
    assert "due already" in second.data["detail"]


def test_what_may_have_arrived_wants_a_confirmation(operator: Api) -> None:
    come(1, state="unconfirmed")
    one = Delivery.objects.get(state="unconfirmed").id
    asked = operator.post(f"/api/deliveries/{one}/send-again", {})
    assert (asked.status, asked.data["code"]) == (409, "delivery.may_appear_twice")
    due = operator.post(f"/api/deliveries/{one}/send-again", {"may_appear_twice": True})
    assert (due.status, due.data["state"]) == (200, "pending")


def test_a_dead_letter_is_closed_with_a_reason(operator: Api) -> None:
    come(1)
    path = f"/api/deliveries/{dead_id()}/close"
    assert operator.post(path, {}).status == 400
    closed = operator.post(path, {"reason": "told by phone"})
    assert (closed.status, closed.data["state"]) == (200, "closed")
    assert (closed.data["closed_by"], closed.data["closed_why"]) == ("olga", "told by phone")
    assert operator.get("/api/deliveries?state=given_up").data["deliveries"] == []


def test_who_may_not_operate_may_look_at_most(stranger: Api) -> None:
    run_id = come(1)
    looking = api_of(make_user("leo", "runs.view_run"))
    one = dead_id()
    for path in ("arrivals", f"arrivals/{run_id}", "deliveries", f"deliveries/{one}"):
        assert looking.get(f"/api/{path}").status == 200
        assert stranger.get(f"/api/{path}").status == 403
    for verb in ("send-again", "close"):
        assert looking.post(f"/api/deliveries/{one}/{verb}", {"reason": "x"}).status == 403
    assert dead_id() == one


def shell(*words: str) -> str:
    out = StringIO()
    call_command("deliveries", *words, stdout=out)
    return out.getvalue()


def test_the_shell_lists_sends_again_and_closes(fresh_db: FreshDatabase) -> None:
    first, second = come(1), come(2)
    listed = shell("--dead")
    assert first in listed
    assert second in listed
    assert "HTTP 404: gone" in listed
    assert "placeholder" not in listed
    one, two = Delivery.objects.filter(state="dead").values_list("id", flat=True)
    assert "is due now" in shell("send-again", str(one))
    assert "is closed" in shell("close", str(two), "--reason", "told by phone")
    assert shell("--dead").count("\n") == 1
    assert "told by phone" in shell("--state", "closed")
    with pytest.raises(Conflict, match="closed by cli:"):
        shell("send-again", str(two))
    with pytest.raises(BadInput):
        shell("send-again", "x")
    with pytest.raises(BadInput, match="name one"):
        shell("--dead", "--state", "dead")


def console_of(name: str, *permissions: str) -> Client:
    user = make_user(name, *permissions)
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def browser(fresh_db: FreshDatabase) -> Client:
    return console_of("ona", "agents.operate", "runs.view_run", "runs.view_call")


def page(client: Client, path: str, **posted: str) -> str:
    answer = client.post(path, posted, follow=True) if posted else client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_the_console_shows_what_came_in_and_what_is_owed(browser: Client) -> None:
    run_id = come(1)
    other = come(2, way="a2a", source="bob", agent_key="other", state="delivered")
    listed = page(browser, "/admin/entry/arrival/")
    assert "plumtree" not in listed
    for path, found, not_found in (
        ("arrival/?way=teams", "desk", "bob"),
        ("arrival/?q=bob", "other", "desk"),
        (f"arrival/?q={run_id}", "desk", "bob"),
        ("arrival/?way=a2a&state=received", "bob", "desk"),
        ("delivery/?state=given_up", "HTTP 404: gone", "a2a, bob"),
        ("delivery/?q=bob", "a2a, bob", "teams, desk"),
        (f"delivery/?q={other}", "a2a, bob", "teams, desk"),
        ("delivery/?agent=other&way=a2a", "a2a, bob", "teams, desk"),
    ):
        rows = page(browser, f"/admin/entry/{path}").partition('id="result_list"')[2]
        assert found in rows, path
        assert not_found not in rows.partition("</table>")[0], path
    assert "result_list" not in page(browser, "/admin/entry/delivery/?state=nothing")
    newest_first = page(browser, "/admin/entry/delivery/").partition('id="result_list"')[2]
    assert newest_first.index(other) < newest_first.index(run_id)
    with CaptureQueriesContext(connection) as queries:
        page(browser, "/admin/entry/arrival/?way=teams")
    assert "sealed" not in str([it["sql"] for it in queries if "entry_arrival" in it["sql"] and " IS NOT NULL" not in it["sql"]])  # fmt: skip
    shown = page(browser, f"/admin/entry/arrival/{run_id}/change/")
    assert "not started yet" in shown
    assert "HTTP 404: gone" in shown
    assert "conversation: c-1" in shown
    one = page(browser, f"/admin/entry/delivery/{dead_id()}/change/")
    for words in (
        "It was given up",
        "HTTP 404: gone",
        "Send it again",
        "Close it",
        "the answer of the run",
    ):
        assert words in one
    assert "Dead letters: 1" in page(browser, "/admin/")


def test_a_dead_letter_is_sent_again_in_the_console_after_it_was_asked(browser: Client) -> None:
    come(1)
    path = f"/admin/entry/delivery/{dead_id()}/send-again/"
    assert "with the same words" in page(browser, path)
    assert Delivery.objects.filter(state="dead").count() == 1
    assert "is due now" in page(browser, path, confirmed="yes")
    assert Delivery.objects.filter(state="pending").count() == 1
    assert "cannot be sent again: it is due already" in page(browser, path, confirmed="yes")


def test_one_that_may_have_arrived_goes_again_in_the_console_with_a_tick_alone(
    browser: Client,
) -> None:
    come(1, state="unconfirmed")
    one = Delivery.objects.get(state="unconfirmed").id
    path = f"/admin/entry/delivery/{one}/send-again/"
    assert "may appear twice" in page(browser, path, confirmed="yes")
    assert Delivery.objects.get(id=one).state == "unconfirmed"
    page(browser, path, confirmed="yes", may_appear_twice="on")
    assert Delivery.objects.get(id=one).state == "pending"


def test_a_dead_letter_is_closed_in_the_console_with_a_reason(browser: Client) -> None:
    come(1)
    one = dead_id()
    path = f"/admin/entry/delivery/{one}/close/"
    page(browser, path, confirmed="yes", reason="")
    assert dead_id() == one
    told = page(browser, path, confirmed="yes", reason="told by phone")
    assert "Closed by ona: told by phone" in told
    assert "Send it again" not in told


def test_who_may_not_operate_sees_no_way_to_send_it_again(fresh_db: FreshDatabase) -> None:
    come(1)
    client = console_of("leo", "runs.view_run")
    path = f"/admin/entry/delivery/{dead_id()}"
    assert "for those who may operate" in page(client, f"{path}/change/")
    for verb in ("send-again", "close"):
        assert (
            client.post(f"{path}/{verb}/", {"confirmed": "yes", "reason": "x"}).status_code == 403
        )
    assert dead_id()


@pytest.mark.parametrize("kind", ["arrival", "delivery"])
def test_a_row_that_is_not_there_leads_to_the_list(browser: Client, kind: str) -> None:
    nobody = "00000000-0000-7000-8000-000000000000" if kind == "arrival" else "7"
    answer = browser.get(f"/admin/entry/{kind}/{nobody}/change/", follow=True)
    assert "forgotten" in answer.content.decode()


def test_the_page_of_a_run_leads_to_what_came_in(world: World, operator: Api) -> None:
    arrived = arrive(Arriving(way="webhook", source="pager", delivery_id="d-1", agent_key="triage", started_by="olga", words={"task": "look"}))  # fmt: skip
    begin_arrival(arrived.run_id)
    client = console_of("leo", "runs.view_run")
    shown = page(client, f"/admin/runs/run/{arrived.run_id}/change/")
    assert f"/admin/entry/arrival/{arrived.run_id}/change/" in shown
    assert f"/admin/entry/delivery/?q={arrived.run_id}" in shown


@pytest.mark.parametrize("room", ["cron/cronfire", "webhooks/triggerarrival"])
def test_the_page_of_a_fire_or_a_call_is_that_of_what_came_in(browser: Client, room: str) -> None:
    run_id = come(1, way=room.partition("/")[0])
    answer = browser.get(f"/admin/{room}/{run_id}/change/", follow=True)
    assert answer.redirect_chain[0][0] == f"/admin/entry/arrival/{run_id}/change/"
    assert "What is owed for it" in answer.content.decode()
