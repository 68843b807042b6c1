"""`GET /api/run-events/{run_id}`: events, verdict, folded state and checkpoint of one moment, and whether they agree."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.kinds import misfit
from events.models import RunEvent
from runs import evidence
from runs.models import Run
from runs.record_told import record_of
from tests.flows.conftest import OPERATOR, READER, Api, api_of, make_user
from tests.unit.events.scenes import (
    Scene,
    answered,
    approved,
    killed_and_resumed,
    unknown_and_settled_by_a_person,
    with_a_gap,
)
from tests.unit.runs.carrying.conftest import World, calls, says

SCENES = (answered, killed_and_resumed, approved, unknown_and_settled_by_a_person)


@pytest.fixture
def reader(world: World) -> Api:
    return api_of(make_user("rita", *READER))


@pytest.fixture
def operator(world: World) -> Api:
    return api_of(make_user("olaf", *OPERATOR))


def told(api: Api, run: Run, query: str = "") -> Any:
    answer = api.get(f"/api/run-events/{run.id}{query}")
    assert answer.status == 200, answer.data
    return answer.data


def untied(world: World) -> World:
    """As the table's owner would: no trigger stands in the way."""
    for table in ("runevent", "eventhead"):
        world.sql(f"ALTER TABLE events_{table} DISABLE TRIGGER ALL")
    return world


@pytest.mark.promise("EV-02")
@pytest.mark.promise("EV-04")
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_s_record_is_intact_complete_and_what_its_checkpoint_says(
    world: World, reader: Api, scene: Scene
) -> None:
    found = told(reader, scene(world))
    assert (found["intact"], found["broken"]) == (True, None)
    assert (found["complete"], found["lacks"], found["open"]) == (True, [], False)
    assert (found["agrees"], found["differs"]) == (True, [])
    (state,) = found["state"]["runs"]
    assert (state["status"], state["steps"]) == (
        found["checkpoint"]["status"],
        found["checkpoint"]["steps"],
    )


@pytest.mark.promise("EV-01")
@pytest.mark.parametrize("scene", [*SCENES, with_a_gap])
def test_each_event_that_is_written_fits_its_kind(world: World, scene: Scene) -> None:
    scene(world)
    for kind, content in RunEvent.objects.values_list("kind", "content"):
        assert misfit(kind, json.loads(content)) == ""


@pytest.mark.promise("EV-01")
@pytest.mark.promise("EV-05")
def test_a_resumed_run_goes_on_with_the_same_sequence(world: World, reader: Api) -> None:
    found = told(reader, killed_and_resumed(world))
    kinds = [it["kind"] for it in found["events"]]
    assert kinds == ["run.started", "step", "run.resumed", "tool.call", "step", "run.ended"]
    assert [it["number"] for it in found["events"]] == [1, 2, 3, 4, 5, 6]
    (state,) = found["state"]["runs"]
    (resume,) = state["resumes"]
    assert (resume["attempt"], resume["losses"]) == (2, 1)
    assert (
        resume["calls"][0]["settlement"] == state["calls"][0]["settlement"] == "sent_with_same_key"
    )


@pytest.mark.promise("EV-01")
@pytest.mark.promise("EV-04")
def test_a_call_is_told_with_its_authority(world: World, reader: Api) -> None:
    (state,) = told(reader, approved(world))["state"]["runs"]
    (call,) = state["calls"]
    assert (call["fate"], call["posture"], call["decision"], call["decided_by"]) == (
        "done",
        "held",
        "approved",
        "olga",
    )
    assert call["approval"] == state["approvals"][0]["approval"]
    assert all(state["approvals"][0][name] for name in ("digest", "policy", "ceiling"))
    assert call["key"]
    assert call["policy"]


@pytest.mark.promise("EV-04")
def test_a_call_is_told_as_whom_it_was_made(world: World, reader: Api) -> None:
    (state,) = told(reader, answered(world, started_by="rita"))["state"]["runs"]
    assert [it["run_as"] for it in state["calls"]] == ["rita", "rita"]


@pytest.mark.promise("EV-07")
@pytest.mark.field("FL-85")
def test_events_that_could_not_be_written_make_it_incomplete_and_still_intact(
    world: World, reader: Api
) -> None:
    run = with_a_gap(world)
    found = told(reader, run)
    assert (run.status, found["intact"], found["complete"]) == ("answered", True, False)
    assert [it["reason"] for it in found["lacks"]] == ["gap", "calls"]
    assert found["state"]["missing"] == 1
    assert not found["agrees"]
    assert found["differs"] == [{"what": "call 1/0: fate", "events": "open", "checkpoint": "done"}]


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_run_that_goes_on_is_open_and_not_truncated(world: World, reader: Api) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    found = told(reader, run)
    assert (found["open"], found["intact"], found["complete"], found["events"]) == (
        True,
        True,
        True,
        [],
    )
    process = world.process()
    process.drains = True
    process.carry()
    found = told(reader, run)
    assert (found["open"], found["intact"], found["complete"], found["agrees"]) == (True,) * 4
    assert found["events"][-1]["kind"] == "run.handed_over"


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_a_run_whose_record_is_gone_is_told_to_be_broken(world: World, reader: Api) -> None:
    run = answered(untied(world))
    world.sql("DELETE FROM events_runevent")
    world.sql("DELETE FROM events_eventhead")
    found = told(reader, run)
    assert (found["intact"], found["complete"], found["agrees"]) == (False, False, False)
    assert found["broken"]["reason"] == "gone"
    assert found["differs"] == [
        {"what": "events", "events": "none", "checkpoint": "answered, 2 steps"}
    ]


@pytest.mark.promise("EV-08")
def test_a_record_that_was_purged_says_so_and_is_not_judged(world: World, reader: Api) -> None:
    run = answered(untied(world))
    world.sql("ALTER TABLE events_purgecertificate DISABLE TRIGGER ALL")
    world.sql(
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, last_at, kept_days, at, asked_by)"
        " SELECT correlation_id, count, hash, '2026-01-01Z', 365, '2027-02-03Z', 'x' FROM events_eventhead"
    )
    world.sql("DELETE FROM events_runevent")
    world.sql("DELETE FROM events_eventhead")
    found = told(reader, run)
    assert (found["intact"], found["complete"], found["events"]) == (None, None, [])
    assert "purged at 2027-02-03T00:00:00Z" in found["not_judged"]


@pytest.mark.promise("EV-04")
def test_a_chain_that_is_too_long_for_an_answer_is_judged_at_the_shell(
    world: World, reader: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(world)
    monkeypatch.setattr(evidence, "MOST_JUDGED", 5)
    found = told(reader, run)
    assert (found["intact"], found["state"], len(found["events"])) == (None, None, 6)
    assert "events verify --run" in found["not_judged"]


@pytest.mark.promise("EV-04")
def test_a_chain_that_holds_too_much_for_an_answer_is_judged_at_the_shell(
    world: World, reader: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(world)
    monkeypatch.setattr(evidence, "MOST_JUDGED_SIZE", 200)
    found = told(reader, run)
    assert (found["intact"], found["state"], len(found["events"])) == (None, None, 6)
    assert "events verify --run" in found["not_judged"]
    record = record_of(run)
    assert (record.verdict, record.may_be_asked_for) == (None, False)


def test_a_page_ends_before_its_contents_are_too_much(
    world: World, reader: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(world)
    monkeypatch.setattr(evidence, "PAGE_BYTES", 1)
    found = told(reader, run)
    assert len(found["events"]) == 1
    seen = [it["number"] for it in found["events"]]
    while found["next"]:
        found = reader.get(found["next"]).data
        seen += [it["number"] for it in found["events"]]
    assert seen == [1, 2, 3, 4, 5, 6]


@pytest.mark.promise("EV-06")
def test_words_are_told_to_those_alone_who_may_read_them(
    world: World, reader: Api, operator: Api
) -> None:
    run = answered(world, task="the secret plan")
    assert "the secret plan" in json.dumps(told(reader, run))
    seen = told(operator, run)
    assert "the secret plan" not in json.dumps(seen)
    assert seen["events"][0]["content"]["withheld"] == ["task"]


@pytest.mark.promise("EV-06")
def test_of_an_agent_that_is_not_recorded_in_full_no_word_is_in_its_events(
    world: World, reader: Api
) -> None:
    world.sql("UPDATE agents_agent SET recording = 'metadata'")
    run = answered(world, task="the secret plan")
    found = told(reader, run)
    started = found["events"][0]["content"]["task"]
    assert started == {
        "sha256": hashlib.sha256(b'"the secret plan"').hexdigest(),
        "bytes": len('"the secret plan"'),
    }
    for event in found["events"]:
        for name in ("task", "text", "args", "result", "answer"):
            words = event["content"].get(name, {"sha256": "", "bytes": 0})
            assert words.keys() == {"sha256", "bytes"}
    assert (found["intact"], found["complete"], found["agrees"]) == (True, True, True)


def test_pages_lead_on_and_the_first_alone_tells_the_verdict(world: World, reader: Api) -> None:
    run = answered(world)
    first = told(reader, run, "?limit=2")
    assert (len(first["events"]), first["intact"]) == (2, True)
    second = reader.get(first["next"]).data
    assert [it["number"] for it in second["events"]] == [3, 4]
    assert (second["intact"], second["state"], second["agrees"]) == (None, None, None)
    assert "first page" in second["not_judged"]
    last = reader.get(second["next"]).data
    assert (len(last["events"]), last["next"]) == (2, None)


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=201", "?cursor=x", "?cursor=WyItMSJd", "?page=2"]
)
def test_what_cannot_be_asked_is_refused(world: World, reader: Api, query: str) -> None:
    run = world.start(says("done"))
    assert reader.get(f"/api/run-events/{run.id}{query}").status == 400


def test_who_may_not_see_runs_sees_no_record(world: World) -> None:
    run = world.start(says("done"))
    nobody = api_of(make_user("stan"))
    assert nobody.get(f"/api/run-events/{run.id}").status == 403
    assert nobody.get("/api/agents/triage/run-events").status == 403
    assert Api().get(f"/api/run-events/{run.id}").status == 401


def test_a_run_that_is_not_there_is_told_so(reader: Api) -> None:
    answer = reader.get("/api/run-events/0190a0a0-0000-7000-8000-000000000000")
    assert (answer.status, answer.data["code"]) == (404, "run.not_found")


@pytest.mark.promise("EV-08")
def test_an_agent_s_runs_are_listed_as_the_log_has_them(world: World, reader: Api) -> None:
    runs = [answered(world), world.start(says("later"))]
    page = reader.get("/api/agents/triage/run-events").data
    assert [it["run_id"] for it in page["runs"]] == [str(it.id) for it in reversed(runs)]
    queued, ended = page["runs"]
    assert (ended["is_ended"], ended["is_recorded"], ended["count"]) == (True, True, 6)
    assert ended["last_at"] >= ended["ended_at"]
    assert (queued["is_ended"], queued["is_recorded"], queued["last_at"]) == (False, False, None)
    assert reader.get("/api/agents/nobody/run-events").status == 404


@pytest.mark.promise("EV-08")
def test_lists_and_pages_ask_as_often_however_many_there_are(world: World, reader: Api) -> None:
    run = answered(world)
    paths = (f"/api/run-events/{run.id}", "/api/agents/triage/run-events")
    counts = []
    for _ in range(2):
        for path in paths:
            reader.get(path)
            with CaptureQueriesContext(connection) as queries:
                reader.get(path)
            counts.append(len(queries))
        for _ in range(4):
            answered(world)
    assert counts[:2] == counts[2:]
