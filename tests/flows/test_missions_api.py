"""Missions over HTTP: the list of the named ones, and one timeline of all that the rooms keep."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.core.ids import new_id
from liyagent.core.paging import write_cursor
from missions.timeline import SOURCES
from runs import timeline as runs_timeline
from runs.models import Run
from tests.databases import FreshDatabase
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.flows.doubting import doubt, ended_run

ALL = (
    *READER,
    "audit.view_auditrow",
    "approvals.view_approval",
    "runs.view_call",
    "tickets.view_ticket",
)
TIMELINE = "/api/missions/INC-1"
EVENT = """
INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)
    SELECT %s, n, %s, liyagent_now() + make_interval(secs => n), 'step', %s, 'metadata', %s, '' FROM generate_series(0, %s) n
"""

ONE = """
INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)
    VALUES (%s, %s, %s, liyagent_now(), 'step', %s, 'metadata', '{}', '')
"""


@pytest.fixture
def auditor(fresh_db: FreshDatabase) -> Api:
    """One who may see all sources."""
    return api_of(make_user("aude", *ALL))


def started(api: Api, **headers: str) -> Any:
    answer = api.post("/api/agents/triage/runs", {"task": "look at the secret disk"}, **headers)
    assert answer.status == 202, answer.data
    return answer.data


def paged(api: Api, address: str) -> list[Any]:
    """All lines of a timeline, page by page."""
    lines: list[Any] = []
    while address:
        answer = api.get(address)
        assert answer.status == 200, answer.data
        lines += answer.data["entries"]
        address = answer.data["next"]
    return lines


@pytest.mark.promise("MI-03", "MI-06")
def test_a_named_mission_has_one_timeline_over_all_rooms(auditor: Api, agent: Agent) -> None:
    run = started(auditor, x_liyagent_mission="INC-1")
    other = started(auditor, baggage="a=1,liyagent.mission=INC-2")
    assert (run["mission"], other["mission"]) == ("INC-1", "INC-2")
    listed = auditor.get("/api/missions").data["missions"]
    assert [it["id"] for it in listed] == ["INC-2", "INC-1"]
    assert {it["first_by"] for it in listed} == {"aude"}
    told = auditor.get(TIMELINE).data
    assert (told["id"], told["is_named"], told["first_by"]) == ("INC-1", True, "aude")
    kinds = {(it["source"], it["kind"]) for it in told["entries"]}
    assert kinds == {("runs", "run"), ("audit", "agent.run.started")}
    assert {it["run_id"] for it in told["entries"]} == {run["id"]}
    assert (told["withheld"], told["next"]) == ([], None)
    assert "secret disk" not in str(told)


def test_no_words_of_a_run_recorded_in_full_stand_in_its_timeline(
    auditor: Api, agent: Agent
) -> None:
    run = started(auditor, x_liyagent_mission="INC-1")
    content = '{"step":1,"server":"jira","tool":"get","args":{"title":"secret"},"text":"secret"}'
    with connection.cursor() as cursor:
        cursor.execute(EVENT, [run["correlation_id"], run["id"], "INC-1", content, 0])
    told = auditor.get(f"{TIMELINE}?source=events").data
    assert told["entries"][0]["told"] == "step: jira/get"
    assert "secret" not in str(told)


@pytest.mark.promise("MI-02")
def test_the_timeline_of_an_unnamed_mission_is_found_by_the_runs_own_id(
    auditor: Api, agent: Agent
) -> None:
    run = started(auditor)
    told = auditor.get(f"/api/missions/{run['id']}").data
    assert (told["id"], told["is_named"], told["first_seen"]) == (run["mission"], False, None)
    assert {it["source"] for it in told["entries"]} == {"runs", "audit"}
    assert auditor.get("/api/missions").data == {"missions": [], "next": None}


@pytest.mark.promise("MI-02")
def test_a_later_run_may_name_the_id_of_an_unnamed_one(auditor: Api, agent: Agent) -> None:
    first = started(auditor)
    second = started(auditor, x_liyagent_mission=first["mission"])
    for run in (first, second):
        with connection.cursor() as cursor:
            cursor.execute(EVENT, [run["correlation_id"], run["id"], first["mission"], "{}", 4])
    lines = paged(auditor, f"/api/missions/{first['mission']}?source=events,runs&limit=3")
    assert len(lines) == len({(it["source"], str(it["facts"])) for it in lines}) == 12
    assert {it["run_id"] for it in lines} == {first["id"], second["id"]}
    assert auditor.get("/api/missions").data["missions"][0]["id"] == first["mission"]


def test_a_runs_id_leads_to_the_mission_that_it_is_of(auditor: Api, agent: Agent) -> None:
    run = started(auditor, x_liyagent_mission="INC-1")
    assert auditor.get(f"/api/missions/{run['id']}").data["id"] == "INC-1"


def test_pages_lead_through_all_sources_with_nothing_left_out_or_told_twice(
    auditor: Api, agent: Agent
) -> None:
    run = started(auditor, x_liyagent_mission="INC-1")
    with connection.cursor() as cursor:
        cursor.execute(EVENT, [run["correlation_id"], run["id"], "INC-1", '{"step":1}', 24])
    for number in range(9):
        record("test.row", actor="ann", mission="INC-1", detail={"number": number})
        with connection.cursor() as cursor:
            cursor.execute(ONE, [run["correlation_id"], 100 + number, run["id"], "INC-1"])
    seen = paged(auditor, f"{TIMELINE}?limit=4")
    keys = [(it["source"], it["at"], str(it["facts"])) for it in seen]
    assert len(keys) == len(set(keys)) == 1 + 1 + 25 + 9 + 9
    assert [it["at"] for it in seen] == sorted((it["at"] for it in seen), reverse=True)
    assert paged(auditor, f"{TIMELINE}?limit=200") == seen


def test_a_look_for_calls_in_doubt_says_how_far_it_went_and_leads_on(
    auditor: Api, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_timeline, "MOST_LOOKED_THROUGH", 3)
    monkeypatch.setattr(runs_timeline, "LOOKED_AT_ONCE", 2)
    mine, other = ended_run(mission="INC-1"), ended_run(mission="INC-2")
    found = doubt(mine)
    for number in range(1, 6):
        doubt(other, number=number)
    newest = doubt(mine, number=6, fate="", settlement="", late_finding="")
    lines = paged(auditor, f"{TIMELINE}?source=doubts&limit=1")
    kinds = [it["kind"] for it in lines]
    assert kinds == ["call.in_doubt", "calls.looked_through", "call.in_doubt"]
    assert [it["facts"].get("call") for it in lines] == [newest.id, None, found.id]
    assert [it["facts"].get("state") for it in lines] == ["open", None, "unknown"]


def test_what_is_written_while_one_reads_shifts_no_page(auditor: Api, agent: Agent) -> None:
    started(auditor, x_liyagent_mission="INC-1")
    for number in range(6):
        record("test.row", actor="ann", mission="INC-1", detail={"number": number})
    first = auditor.get(f"{TIMELINE}?source=audit&limit=4").data
    record("test.row", actor="ann", mission="INC-1", detail={"number": "late"})
    second = auditor.get(first["next"]).data
    told = [it["facts"]["id"] for it in (*first["entries"], *second["entries"])]
    assert len(told) == len(set(told)) == 7
    assert second["next"] is None


def test_each_source_is_told_to_those_alone_who_may_see_it(reader: Api, agent: Agent) -> None:
    started(reader, x_liyagent_mission="INC-1")
    told = reader.get(TIMELINE).data
    assert {it["source"] for it in told["entries"]} == {"runs"}
    assert set(told["withheld"]) == {"audit", "approvals", "doubts", "tickets"}
    assert reader.get(f"{TIMELINE}?source=audit").data["entries"] == []


def test_strangers_are_told_nothing(stranger: Api, fresh_db: FreshDatabase) -> None:
    for address in ("/api/missions", TIMELINE):
        assert stranger.get(address).status == 403
        assert Api().get(address).status == 401


def test_bad_input_is_refused_with_what_is_wanted(auditor: Api, agent: Agent) -> None:
    started(auditor, x_liyagent_mission="INC-1")
    cursor = auditor.get(f"{TIMELINE}?limit=1").data["next"].partition("cursor=")[2]
    for query, wanted in [
        ("source=runs,none", "source is 'none'"),
        ("limit=0", "limit is '0'"),
        ("cursor=x", "cursor wants"),
        (f"cursor={cursor}&source=runs", "cursor wants"),
        ("since=now", "'since' is not known here"),
    ]:
        answer = auditor.get(f"{TIMELINE}?{query}")
        assert answer.status == 400, query
        assert wanted in answer.data["detail"], (query, answer.data)
    assert "mission is '-INC'" in auditor.get("/api/missions/-INC").data["detail"]
    assert auditor.get("/api/missions/INC-1%0A").status == 400
    assert auditor.get("/api/missions/INC-404").data["code"] == "mission.not_found"
    assert auditor.get(f"/api/missions/{uuid4()}").status == 404
    assert auditor.get("/api/missions?cursor=x").status == 400
    assert auditor.get("/api/missions?source=runs").status == 400


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_place_that_no_page_named_is_bad_input(name: str, auditor: Api, agent: Agent) -> None:
    started(auditor, x_liyagent_mission="INC-1")
    for place in ("x", "-1", "1-", "9" * 19, "1-zz", "9" * 18 + "-1", "1-1-1-1-1", "."):
        cursor = write_cursor([f"{name}={place}"])
        answer = auditor.get(f"{TIMELINE}?source={name}&cursor={cursor}")
        assert answer.status in {200, 400}, (place, answer.data)


def test_missions_are_listed_newest_first_in_pages(auditor: Api, agent: Agent) -> None:
    for number in range(5):
        record("test.row", actor="ann", mission=f"INC-{number}", request_id="req-1")
    seen: list[str] = []
    address = "/api/missions?limit=2"
    while address:
        page = auditor.get(address).data
        seen += [it["id"] for it in page["missions"]]
        address = page["next"]
    assert seen == [f"INC-{it}" for it in (4, 3, 2, 1, 0)]


def test_a_page_asks_as_much_of_a_long_mission_as_of_a_short_one(
    auditor: Api, agent: Agent
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert auditor.get(f"{TIMELINE}?limit=20").status == 200
        return len(queries)

    run = started(auditor, x_liyagent_mission="INC-1")
    record("test.row", actor="ann", mission="INC-1")
    with connection.cursor() as cursor:
        cursor.execute(EVENT, [run["correlation_id"], run["id"], "INC-1", "{}", 0])
    few = asked()
    at = Run.objects.get().created_at
    Run.objects.bulk_create(
        Run(
            id=new_id(), correlation_id=uuid4(), agent_key="triage", agent_version=1, entry="api", mission="INC-1",
            recording="metadata", key_id="k", seal=b"", created_at=at + timedelta(seconds=it),
        ) for it in range(50)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(EVENT, [uuid4(), uuid4(), "INC-1", "{}", 200])
    for _ in range(50):
        record("test.row", actor="ann", mission="INC-1")
    assert asked() == few
