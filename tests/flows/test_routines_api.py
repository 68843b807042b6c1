"""Routines over the API: mined when asked, listed a page at a time, definitions for who may read words (RT-01, RT-04)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.core.canonical import canonical
from liyagent.gateway.models import Tool
from liyagent.jobs.models import Job
from routines import listing
from routines.models import NOW, Routine
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.recorded_runs import AGENT
from tests.unit.routines.conftest import Mine, closed, mining_at

ALL = f"/api/agents/{AGENT}/routines"
NOWHERE = "018f0000-0000-7000-8000-000000000000"


@pytest.fixture
def mine(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    with mining_at(fresh_db.url, monkeypatch) as it:
        yield it


def some(count: int, **facts: Any) -> list[str]:
    """Routines of the agent, the last of them the newest."""
    base: dict[str, Any] = {
        "agent_key": AGENT, "tools": ["crm/find"], "definition": {"steps": []}, "digest": "d", "runs": [], "support": 3,
        "tools_seen": {}, "created_at": NOW, "changed_at": NOW, "mined_at": NOW,
    }  # fmt: skip
    made = [
        Routine.objects.create(id=f"018f0000-0000-7000-8000-{number:012}", pattern=str(number), **base | facts)
        for number in range(count)
    ]  # fmt: skip
    return [str(it.id) for it in made]


@pytest.mark.promise("RT-01")
@pytest.mark.promise("RT-04")
def test_runs_are_mined_when_asked_and_the_routine_is_shown(mine: Mine, operator: Api, reader: Api) -> None:  # fmt: skip
    runs = mine.past(map(closed, range(3)))
    asked = operator.post(f"{ALL}/mine", {})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    assert (asked.data["job"]["kind"], asked.data["job"]["subject"]) == ("routine_mining", AGENT)
    again = operator.post(f"{ALL}/mine", b"")
    assert (again.status, again.data["is_new"], again.data["job"]["id"]) == (202, False, asked.data["job"]["id"])  # fmt: skip
    assert operator.get(ALL).data == {"routines": [], "next": None}
    mine.work()
    job = operator.get(f"/api/jobs/{asked.data['job']['id']}").data
    assert (job["status"], job["done"], job["total"], job["result"]["routines"]) == ("done", 4, 4, {"new": 1})  # fmt: skip
    (told,) = reader.get(ALL).data["routines"]
    assert told["digest"] == hashlib.sha256(canonical(told["definition"])).hexdigest()
    assert sorted(told["runs"]) == sorted(map(str, runs))
    assert (told["state"], told["support"], told["distinct_inputs"], told["not_offered"]) == ("suggested", 3, 3, "")  # fmt: skip
    assert [it["name"] for it in told["parameters"]] == ["who"]
    assert {it["kind"] for it in told["origins"]} == {"literal", "expression", "parameter"}
    assert (told["is_stale"], told["changed_tools"]) == (False, [])
    assert reader.get(f"/api/routines/{told['id']}").data.items() >= told.items()


@pytest.mark.promise("RT-04")
def test_who_may_not_read_words_sees_the_digest_and_no_definition(mine: Mine, operator: Api) -> None:  # fmt: skip
    mine.past(map(closed, range(3)))
    mine.mine()
    (told,) = operator.get(ALL).data["routines"]
    assert (told["definition"], told["withheld"]) == (None, ["definition"])
    assert len(told["digest"]) == 64
    assert told["origins"]
    # The only literal of these runs.
    assert "desk" not in str(told)


@pytest.mark.promise("RT-04")
def test_a_routine_whose_tools_changed_is_shown_as_stale(mine: Mine, reader: Api) -> None:
    mine.past(map(closed, range(3)))
    mine.mine()
    Tool.objects.filter(name="close").update(schema={"type": "object", "required": ["id"]})
    (told,) = reader.get(ALL).data["routines"]
    assert (told["is_stale"], told["changed_tools"]) == (True, ["crm/close"])
    Tool.objects.filter(name="find").update(is_offered=False)
    assert reader.get(f"/api/routines/{told['id']}").data["changed_tools"] == ["crm/close", "crm/find"]  # fmt: skip
    Tool.objects.filter(name="find").update(is_offered=True, timeout_seconds=3)
    assert reader.get(f"/api/routines/{told['id']}").data["changed_tools"] == ["crm/close"]


@pytest.mark.promise("RT-04")
def test_a_list_is_told_a_page_at_a_time_the_newest_first(mine: Mine, reader: Api) -> None:
    ids = some(5)
    Routine.objects.filter(id=ids[2]).update(state="dismissed")
    seen, address = [], f"{ALL}?limit=2"
    pages = 0
    while address:
        page = reader.get(address).data
        seen += [it["id"] for it in page["routines"]]
        address, pages = page["next"], pages + 1
    assert (seen, pages) == (ids[::-1], 3)
    assert [it["id"] for it in reader.get(f"{ALL}?state=dismissed").data["routines"]] == [ids[2]]
    assert len(reader.get(f"{ALL}?state=suggested").data["routines"]) == 4


def test_a_page_of_large_definitions_ends_early_and_leads_on(
    mine: Mine, reader: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = some(4, definition={"steps": ["x" * 1000]})
    monkeypatch.setattr(listing, "PAGE_BYTES", 2500)
    first = reader.get(ALL).data
    assert [it["id"] for it in first["routines"]] == ids[:1:-1]
    second = reader.get(first["next"]).data
    assert [it["id"] for it in second["routines"]] == ids[1::-1]
    assert second["next"] is None
    monkeypatch.setattr(listing, "PAGE_BYTES", 10)
    assert len(reader.get(ALL).data["routines"]) == 1


def test_a_list_takes_as_many_statements_whatever_it_holds(mine: Mine, reader: Api) -> None:
    counts = []
    for more in (1, 40):
        Routine.objects.all().delete()
        some(more, tools_seen={"crm/find": "x", "agents/triage": "y"})
        reader.get(ALL)
        with CaptureQueriesContext(connection) as queries:
            assert len(reader.get(ALL).data["routines"]) == more
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_who_may_not_and_what_is_wrong_is_told_so(mine: Mine, operator: Api, stranger: Api) -> None:
    viewer = api_of(make_user("vera", "agents.view_agent"))
    assert viewer.get(ALL).status == 200
    assert viewer.post(f"{ALL}/mine", {}).status == 403
    assert {stranger.get(ALL).status, stranger.get(f"/api/routines/{NOWHERE}").status} == {403}
    assert Api().post(f"{ALL}/mine", {}).status == 401
    for query in ("state=new", "limit=0", "cursor=x", "x=1", "limit=1&limit=2"):
        answer = operator.get(f"{ALL}?{query}")
        assert (answer.status, answer.headers["Content-Type"]) == (400, "application/problem+json"), query  # fmt: skip
    bodies: tuple[Any, ...] = ({"x": 1}, [], "x", b"{")
    for body in bodies:
        assert operator.post(f"{ALL}/mine", body).status == 400, body
    assert operator.get("/api/agents/none/routines").status == 404
    assert operator.post("/api/agents/none/routines/mine", {}).status == 404
    for wrong in (NOWHERE, "x"):
        assert operator.get(f"/api/routines/{wrong}").status == 404
    assert not Job.objects.exists()


def test_routines_of_an_agent_that_is_gone_are_still_shown(mine: Mine, reader: Api) -> None:
    some(1, agent_key="gone")
    assert len(reader.get("/api/agents/gone/routines").data["routines"]) == 1
