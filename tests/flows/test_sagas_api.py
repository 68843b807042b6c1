"""`/api/sagas` and an agent's sagas: what was undone, what not, and what a person does about it (SG-11)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from liyagent.agents.models import Agent
from runs.models import Run
from sagas.models import Saga, Undo
from tests.flows.conftest import Api, api_of, make_user
from tests.unit.runs.carrying.conftest import World, world
from tests.unit.runs.carrying.test_compensation import MAP, fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO, stubborn, unswept

__all__ = ["stubborn", "undoing", "unswept", "world"]


@pytest.fixture
def olga(undoing: World) -> Api:
    """One who starts, sees and stops runs, and reads no words."""
    return api_of(make_user("olga", "agents.operate", "runs.view_run"))


@pytest.fixture
def reader(undoing: World) -> Api:
    """One who sees runs and reads their words."""
    return api_of(make_user("rita", "runs.view_run", "transcripts.content.read"))


def refusal(answer: Any) -> tuple[int, str]:
    assert answer.headers["Content-Type"] == "application/problem+json", answer.data
    return answer.status, answer.data["code"]


@pytest.mark.promise("SG-11")
def test_a_saga_is_told_whole(stubborn: World, olga: Api, reader: Api) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    told = olga.get(f"/api/sagas/{run.id}").data
    assert (told["run_id"], told["status"], told["cause"]) == (str(run.id), "partial", "failed")
    assert told["counts"] == {"done": 1, "failed": 1}
    assert [(it["order"], it["write"], it["fate"], it["tries"]) for it in told["undos"]] == [
        (2, "v/blind", "failed", 3),
        (1, "v/keyed", "done", 1),
    ]
    assert not {"args", "error"} & told["undos"][0].keys()
    assert "context" not in told
    assert (told["filed"]["kind"], told["filed"]["status"]) == ("approval", "pending")
    assert told["filed"]["id"] == told["handoff_id"]
    assert [(it["round"], it["status"]) for it in told["rounds"]] == [(1, "failed")]
    child = Run.objects.get(loop="undo:1")
    assert olga.get(f"/api/sagas/{child.id}").data["run_id"] == str(run.id)
    words = reader.get(f"/api/sagas/{run.id}").data
    assert words["undos"][0]["error"] == "locked by change freeze"
    assert words["undos"][0]["args"] == {"undo_of": 2}
    assert words["context"]["task"] == "look after it"
    beside = olga.get(f"/api/runs/{run.id}").data["saga"]
    assert beside == {
        "run_id": str(run.id), "status": "partial", "undos": 2, "url": f"/api/sagas/{run.id}",
    }  # fmt: skip


def test_writes_that_no_undo_is_known_of_are_told_too(undoing: World, olga: Api) -> None:
    Agent.objects.update(compensations={"v/blind": MAP["v/blind"]})
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/blind", {"x": 1}))
    undone(undoing)
    told = olga.get(f"/api/sagas/{run.id}").data
    assert told["status"] == "compensated"
    assert [(it["server"], it["tool"], it["step"]) for it in told["writes_without_undo"]] == [
        ("v", "keyed", 1)
    ]
    assert told["writes_without_undo_truncated"] is False


def test_its_undos_are_told_a_page_at_a_time(undoing: World, olga: Api) -> None:
    run = fail(undoing, *(("v/keyed", {"name": str(it)}) for it in range(5)))
    seen: list[int] = []
    path: str | None = f"/api/sagas/{run.id}?limit=2"
    while path:
        answer = olga.get(path)
        seen += [it["order"] for it in answer.data["undos"]]
        path = answer.data["next"]
    assert seen == [5, 4, 3, 2, 1]
    for wrong in ("limit=0", "cursor=x", "order=1"):
        assert olga.get(f"/api/sagas/{run.id}?{wrong}").status == 400


@pytest.mark.promise("SG-11")
def test_an_agents_sagas_lead_on_and_are_chosen_by_status(undoing: World, olga: Api) -> None:
    runs = []
    for number in range(3):
        runs.append(str(fail(undoing, *TWO).id))
        if number:
            undone(undoing, name=f"undoer {number}")
        else:
            undoing.sql("UPDATE runs_run SET not_before = liyagent_now() + interval '1 h' WHERE status = 'queued'")  # fmt: skip
    seen: list[str] = []
    path: str | None = "/api/agents/triage/sagas?limit=1"
    while path:
        answer = olga.get(path)
        assert answer.status == 200, answer.data
        seen += [it["run_id"] for it in answer.data["sagas"]]
        path = answer.data["next"]
    assert seen == runs[::-1]
    chosen = olga.get("/api/agents/triage/sagas?status=compensating").data["sagas"]
    assert [it["run_id"] for it in chosen] == runs[:1]
    first = olga.get("/api/agents/triage/sagas?status=compensated&limit=1").data
    assert [it["run_id"] for it in first["sagas"]] == runs[2:]
    assert [it["run_id"] for it in olga.get(first["next"]).data["sagas"]] == runs[1:2]
    assert olga.get("/api/agents/nobody/sagas").status == 404
    assert olga.get("/api/agents/triage/sagas?status=done").status == 400


@pytest.mark.promise("SG-06", "SG-11")
def test_what_is_owed_is_undone_when_a_person_asks(stubborn: World, olga: Api) -> None:
    run = fail(stubborn, *TWO)
    path = f"/api/sagas/{run.id}/compensate"
    answer = olga.post(path, {})
    assert (answer.status, answer.data["status"], answer.data["round"]) == (202, "compensating", 1)
    undone(stubborn)
    stubborn.vendor.before_effect = lambda _tool: None
    answer = olga.post(path, {"reason": "the freeze is over"})
    assert (answer.status, answer.data["status"], answer.data["round"]) == (202, "compensating", 2)
    assert olga.post(path, {}).data["compensating_run"] == answer.data["compensating_run"]
    undone(stubborn, name="second")
    assert olga.get(f"/api/sagas/{run.id}").data["status"] == "compensated"
    assert refusal(olga.post(path, {})) == (409, "sagas.nothing_owed")
    assert [it.get("undo_of") for it in stubborn.vendor.rows[2:]] == [1, 2]


@pytest.mark.promise("SG-11", "SG-12")
def test_it_is_closed_with_a_reason_once(undoing: World, olga: Api) -> None:
    run = fail(undoing, *TWO)
    path = f"/api/sagas/{run.id}/close"
    assert refusal(olga.post(path, {"reason": "by hand"})) == (409, "sagas.compensating")
    undone(undoing)
    assert olga.post(path, {}).status == 400
    assert olga.post(path, {"reason": "two\nlines"}).status == 400
    answer = olga.post(path, {"reason": "by hand"})
    assert (answer.status, answer.data["status"], answer.data["closed_by"]) == (
        200,
        "closed",
        "olga",
    )
    assert refusal(olga.post(path, {"reason": "by hand"})) == (409, "sagas.closed")
    assert refusal(olga.post(f"/api/sagas/{run.id}/compensate", {})) == (409, "sagas.closed")
    assert [it["reason"] for it in undoing.audit("saga.closed")] == ["by hand"]


def test_what_is_not_there_or_not_theirs_is_refused(undoing: World, olga: Api, reader: Api) -> None:
    lonely = undoing.start()
    for run_id in (lonely.id, uuid4()):
        assert refusal(olga.get(f"/api/sagas/{run_id}")) == (404, "sagas.not_found")
        for verb, body in (("compensate", {}), ("close", {"reason": "by hand"})):
            assert refusal(olga.post(f"/api/sagas/{run_id}/{verb}", body)) == (
                404,
                "sagas.not_found",
            )
            assert reader.post(f"/api/sagas/{run_id}/{verb}", body).status == 403
            assert Api().post(f"/api/sagas/{run_id}/{verb}", body).status == 401
    assert Api().get(f"/api/sagas/{lonely.id}").status == 401
    nobody = api_of(make_user("ned", "agents.operate"))
    assert nobody.get(f"/api/sagas/{lonely.id}").status == 403
    assert nobody.get("/api/agents/triage/sagas").status == 403
    assert (Saga.objects.count(), Undo.objects.count()) == (0, 0)


@pytest.mark.promise("SG-09")
def test_who_decides_is_told_first_what_would_be_made_a_second_time(stubborn: World) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    kim = api_of(make_user("kim", "approvals.view_approval", "approvals.decide"))
    (listed,) = kim.get("/api/approvals?kind=saga").data["approvals"]
    assert (listed["run_id"], listed["policies_changed"]) == (str(run.id), False)
    told = kim.get(f"/api/approvals/{listed['id']}").data
    assert [(it["write"], it["fate"], it["tries"]) for it in told["not_undone"]] == [
        ("v/blind", "failed", 3)
    ]
    assert next(iter(told["arguments"])) == "not_undone"
    decision = {"reason": "seen", "digest": told["digest"]}
    answer = kim.post(f"/api/approvals/{listed['id']}/approve", decision)
    assert (answer.status, answer.data["status"]) == (200, "consumed")
    assert Run.objects.filter(loop="root").count() == 2


def test_a_round_whose_row_names_no_number_is_shown_all_the_same(
    stubborn: World, olga: Api
) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    stubborn.sql("UPDATE runs_run SET loop = 'undo:x' WHERE loop = 'undo:1'")
    told = olga.get(f"/api/sagas/{run.id}").data
    assert [it["round"] for it in told["rounds"]] == [0]
