"""From runs to a routine that runs: mined, asked for, approved, started, and what became of it; over HTTP (RT-01 to RT-07)."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.canonical import digest
from routines.models import Routine
from tests.flows.conftest import READER, Answer, Api, api_of, make_user
from tests.recorded_runs import Made, Past, write_past
from tests.unit.routines.conftest import Mine
from tests.unit.routines.stored import store
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.carrying.vendor import VENDOR
from tests.unit.runs.delegating.conftest import carry_all

__all__ = ["world"]

DECIDES = ("approvals.view_approval", "approvals.decide", "workflows.view_workflow")


def restarted(number: int) -> Past:
    """A run that looked at a host, restarted it and wrote that down."""
    host, row = f"web-{number}", 4_700 + number
    made = (
        Made(tool="v/look", args={"host": host}, result={"seen": {"host": host}}),
        Made(tool="v/keyed", args={"of": host, "kind": "restart"}, result={"id": row}, effect="write"),
        Made(tool="v/blind", args={"of": row, "why": "hangs"}, result={"id": row + 1}, effect="write"),
    )  # fmt: skip
    return Past(task=f"restart {host}", calls=made)


@pytest.fixture
def olga(world: World) -> Api:
    """One who operates agents and reads words."""
    return api_of(make_user("olga", *READER, "workflows.view_workflow"))


@pytest.fixture
def ben(world: World) -> Api:
    """One who decides."""
    return api_of(make_user("ben", *DECIDES))


@pytest.fixture
def found(world: World, olga: Api) -> dict[str, Any]:
    """The routine that four runs came to, mined over HTTP."""
    write_past(world.url, (restarted(it) for it in range(1, 5)))
    asked = olga.post("/api/agents/triage/routines/mine", {})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    miner = Mine(url=world.url, holder=world.process("miner").holder, set_conf=lambda **_: None)
    miner.mine()
    (routine,) = olga.get("/api/agents/triage/routines").data["routines"]
    return dict(routine)


def approve(api: Api, approval: str, verb: str = "approve") -> Answer:
    shown = api.get(f"/api/approvals/{approval}").data
    return api.post(f"/api/approvals/{approval}/{verb}", {"reason": "as we do it", "digest": shown["digest"]})  # fmt: skip


@pytest.mark.promise("RT-02")
@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-05")
@pytest.mark.promise("RT-06")
@pytest.mark.promise("RT-07")
def test_from_recorded_runs_to_a_routine_that_runs_without_a_model(
    world: World, olga: Api, ben: Api, found: dict[str, Any]
) -> None:
    assert (found["state"], found["support"], found["is_stale"]) == ("suggested", 4, False)
    assert digest(found["definition"]) == found["digest"]
    page = f"/api/routines/{found['id']}"
    filed = olga.post(f"{page}/adopt", {"digest": found["digest"]})
    assert (filed.status, filed.data["digest"], filed.data["is_new"]) == (201, found["digest"], True)  # fmt: skip
    again = olga.post(f"{page}/adopt", {})
    assert (again.status, again.data["approval"], again.data["is_new"]) == (200, filed.data["approval"], False)  # fmt: skip
    shown = ben.get(f"/api/approvals/{filed.data['approval']}").data
    assert (shown["kind"], shown["routine"]["is_as_asked"]) == ("routine", True)
    assert shown["arguments"]["definition"] == found["definition"]
    settled = approve(ben, filed.data["approval"])
    assert (settled.status, settled.data["status"]) == (200, "consumed")
    adopted = olga.get(page).data
    key = adopted["workflow_key"]
    assert (adopted["state"], adopted["adopted_by"], adopted["standing"]["runs"]) == ("adopted", "ben", 0)  # fmt: skip
    assert olga.get(f"/api/workflows/{key}").data["digest"] == found["digest"]
    parameters = {it["name"]: "web-9" for it in found["parameters"]}
    started = olga.post(f"/api/workflows/{key}/runs", {"input": {"task": "restart web-9", **parameters}})  # fmt: skip
    assert started.status == 202, started.data
    carry_all(world)
    run = olga.get(f"/api/runs/{started.data['id']}").data
    assert run["status"] == "answered"
    first, second = VENDOR.rows
    assert (first["of"], first["kind"], second["of"], second["why"]) == ("web-9", "restart", first["id"], "hangs")  # fmt: skip
    assert world.model.asked == []
    standing = olga.get(page).data["standing"]
    assert (standing["runs"], standing["answered"], standing["fell_back"]) == (1, 1, 0)
    assert (standing["tokens"], standing["tokens_saved"]) == (0, 480)
    names = AuditRow.objects.filter(action__startswith="agent.routine.").order_by("id")
    assert list(names.values_list("action", flat=True)) == [
        "agent.routine.suggested",
        "agent.routine.adoption_requested",
        "agent.routine.adopted",
    ]


@pytest.mark.promise("RT-03")
def test_where_the_world_changed_the_agent_takes_over(
    world: World, olga: Api, ben: Api, found: dict[str, Any]
) -> None:
    approve(ben, olga.post(f"/api/routines/{found['id']}/adopt", {}).data["approval"])
    key = Routine.objects.get().workflow_key
    Agent.objects.update(tool_patterns=["v/look", "v/keyed"])
    world.model.steps = [calls(("v/keyed", {"of": "the desk", "kind": "note"})), says("noted instead")]  # fmt: skip
    parameters = {it["name"]: "web-9" for it in found["parameters"]}
    started = olga.post(f"/api/workflows/{key}/runs", {"input": {"task": "restart web-9", **parameters}})  # fmt: skip
    carry_all(world)
    run = olga.get(f"/api/runs/{started.data['id']}").data
    assert (run["status"], run["answer"]) == ("answered", "noted instead")
    assert [it["kind"] for it in VENDOR.rows] == ["restart", "note"]
    standing = olga.get(f"/api/routines/{found['id']}").data["standing"]
    assert (standing["fell_back"], standing["fallback_rate"]) == (1, 1.0)


@pytest.mark.promise("RT-05")
def test_rejected_it_is_offered_again_and_dismissed_never(
    world: World, olga: Api, ben: Api, found: dict[str, Any]
) -> None:
    page = f"/api/routines/{found['id']}"
    approve(ben, olga.post(f"{page}/adopt", {}).data["approval"], "reject")
    assert olga.get(page).data["state"] == "suggested"
    request = olga.post(f"{page}/adopt", {}).data["approval"]
    gone = olga.post(f"{page}/dismiss", {"reason": "the desk does it"})
    assert (gone.status, gone.data["state"], gone.data["reason"]) == (200, "dismissed", "the desk does it")  # fmt: skip
    assert ben.get(f"/api/approvals/{request}").data["status"] == "withdrawn"
    assert olga.post(f"{page}/dismiss", {}).status == 200
    write_past(world.url, [restarted(8)])
    Mine(url=world.url, holder=world.process("again").holder, set_conf=lambda **_: None).mine()
    (row,) = olga.get("/api/agents/triage/routines").data["routines"]
    assert (row["state"], row["support"]) == ("dismissed", 4)
    refused = olga.post(f"{page}/adopt", {})
    assert (refused.status, refused.data["code"]) == (409, "routine.dismissed")


@pytest.mark.promise("RT-02")
@pytest.mark.promise("RT-05")
def test_a_literal_becomes_a_parameter_and_what_was_shown_before_is_told_to_have_moved(
    world: World, olga: Api, found: dict[str, Any]
) -> None:
    page = f"/api/routines/{found['id']}"
    made = olga.post(f"{page}/parameters", {"place": "/s2/kind", "name": "how", "digest": found["digest"]})  # fmt: skip
    assert (made.status, made.data["digest"] != found["digest"]) == (200, True)
    assert "how" in {it["name"] for it in made.data["parameters"]}
    moved = olga.post(f"{page}/adopt", {"digest": found["digest"]})
    assert (moved.status, moved.data["code"]) == (409, "routine.moved")
    assert olga.post(f"{page}/adopt", {"digest": made.data["digest"]}).status == 201
    late = olga.post(f"{page}/parameters", {"place": "/s3/why"})
    assert (late.status, late.data["code"]) == (409, "routine.filed")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("adopt", {"digest": 7}, "input.bad"),
        ("adopt", {"sure": True}, "input.bad"),
        ("dismiss", {"reason": "a\nb"}, "approval.bad_reason"),
        ("dismiss", {"reason": "x" * 501}, "input.bad"),
        ("parameters", {}, "input.bad"),
        ("parameters", {"place": "/s9/x"}, "routine.place_unknown"),
        ("parameters", [], "input.bad"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_changed(
    world: World, olga: Api, path: str, body: Any, code: str
) -> None:
    routine = store()
    answer = olga.post(f"/api/routines/{routine.id}/{path}", body)
    assert answer.status == 400, answer.data
    assert Routine.objects.get().state == "suggested"
    assert not AuditRow.objects.filter(action__startswith="agent.routine.").exists()
    for unknown in ("nonsense", "01a22df5-6696-7636-ae3c-8fcbafdfcdcf"):
        lost = olga.post(f"/api/routines/{unknown}/{path}", {"place": "/s2/x"} if path == "parameters" else {})  # fmt: skip
        assert (lost.status, lost.data["code"]) == (404, "routine.not_found")
    assert answer.data["code"] == code


@pytest.mark.parametrize("path", ["adopt", "dismiss", "parameters"])
def test_who_only_sees_agents_does_nothing_with_routines(world: World, path: str) -> None:
    routine = store()
    vera = api_of(make_user("vera", "agents.view_agent", "transcripts.content.read"))
    assert vera.post(f"/api/routines/{routine.id}/{path}", {"place": "/s2/kind"}).status == 403
    assert vera.get(f"/api/routines/{routine.id}").data["standing"] is None
    assert Api().post(f"/api/routines/{routine.id}/{path}", {}).status == 401
    assert User.objects.filter(username="vera").exists()
