"""What came in and what is owed for it: over the API and at the shell; what was given up is sent again or closed there."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from liyagent.access.keys import DatabaseNow
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.paging import write_cursor
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.models import Delivery
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

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
