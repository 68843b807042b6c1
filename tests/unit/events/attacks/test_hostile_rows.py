"""Rows that only whoever writes to the tables can make: each is told of, and keeps nobody from seeing or sealing the rest."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from events.seal_heads import seal_due
from runs.models import Run
from runs.told_events import LAST, Window, told_in
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.flows.doubting import doubt
from tests.flows.holding import filed
from tests.unit.events.attacks.conftest import Roles
from tests.unit.events.attacks.tampering import without_triggers
from tests.unit.events.attacks.test_found import ended, packed, told, verified
from tests.unit.runs.carrying.conftest import World, calls, says

NO_CONTENT = (
    "", "{not json", "[]", "null", '"x"', '{"a":"\\u0000"}', '{"a":"\\ud800"}', "[" * 200_000, "\x01",
    '{"step":' + "9" * 5000 + "}", '{"missing":99999999999999999999999}', '{"server":{"a":1},"tool":["x"]}',
    '{"step":-5,"calls":[1,{},[]],"fate":"' + "x" * 1_000_000 + '"}',
)  # fmt: skip
NO_TIMES = ("infinity", "-infinity", "20000-01-01", "4000-01-01 BC")
RESUMED = """
INSERT INTO audit_auditrow (at, action, actor, mission, run_id, request_id, detail)
VALUES (now(), 'agent.run.crash_resumed', 'system', '', %s, '', %s)
"""
TIMES = (
    ("runs_run", "created_at"),
    ("approvals_approval", "created_at"),
    ("runs_call", "marked_at"),
)
LISTS = ("/api/runs?", "/api/agents/triage/run-events?", "/api/approvals?", "/api/approvals?status=pending&", "/api/calls/in-doubt?")  # fmt: skip
CERTIFICATE = """
INSERT INTO events_purgecertificate (correlation_id, count, hash, last_at, kept_days, at, asked_by) VALUES (%s, -1, '', %s, %s, %s, 'x')
"""
APPEND = "SELECT liyagent_append_events(%s, %s, %s, 'full', ARRAY[%s], ARRAY[%s])"


@pytest.fixture
def console(fresh_db: object) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="not used here"))
    return client


def shown(api: Api, console: Client, run: Run) -> set[int]:
    """What each page answers that tells of the run's events."""
    addresses = (
        f"/api/run-events/{run.id}",
        f"/api/runs/{run.id}",
        f"/api/missions/{run.mission}",
        f"/api/agents/{run.agent_key}/run-events",
    )
    pages = (f"/admin/events/?q={run.id}", f"/admin/mission/{run.mission}/", f"/admin/runs/run/{run.id}/change/")  # fmt: skip
    return {
        *(api.get(it).status for it in addresses),
        *(console.get(it).status_code for it in pages),
    }


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("kind", ["step", "tool.call", "run.ended"])
def test_content_that_is_none_of_ours_breaks_no_page_and_no_verification(
    kind: str, served_world: World, roles: Roles, console: Client
) -> None:
    api = api_of(make_user("rita", *READER))
    run = ended(served_world)
    with roles.as_runtime() as session:
        for content in NO_CONTENT:
            values = [run.correlation_id, run.id, run.mission, kind, content]
            session.execute(APPEND, values)
            assert shown(api, console, run) == {200}, content[:40]
    assert told(api, run) == "untagged"
    assert verified(str(run.correlation_id)) == {"untagged"}


def test_an_event_of_very_many_fields_makes_no_page_large(
    served_world: World, roles: Roles, console: Client
) -> None:
    run = ended(served_world)
    content = json.dumps({f"name {number}": "x" for number in range(60_000)})
    with roles.as_runtime() as session:
        for kind in ("step", "tool.call"):
            session.execute(APPEND, [run.correlation_id, run.id, run.mission, kind, content])
    for page in (
        f"/admin/events/?q={run.id}",
        f"/admin/mission/{run.mission}/",
        f"/admin/runs/run/{run.id}/change/",
    ):
        assert len(console.get(page).content) < 200_000, page
    told_of = told_in(run.correlation_id, [run.id], Window(0, LAST), limit=50)
    assert max(len(it.content) for it in told_of) < 100


@pytest.mark.promise("EV-02")
def test_a_head_and_its_takeovers_that_were_edited_are_shown_as_they_stand(
    served_world: World, roles: Roles, console: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    api = api_of(make_user("rita", *READER))
    run = ended(served_world)
    with roles.as_owner() as session, without_triggers(session):
        for detail in ("{}", "[7]", '{"calls":[1,{}]}'):
            session.execute(RESUMED, [run.id, detail])
        session.execute("ALTER TABLE runs_run DROP CONSTRAINT runs_status")
        session.execute(
            "UPDATE runs_run SET status = 'a/b', created_at = 'infinity' WHERE id = %s", [run.id]
        )
    assert shown(api, console, run) == {200}
    assert console.get("/admin/runs/run/").status_code == 200
    assert len(api.get(f"/api/runs/{run.id}").data["takeovers"]) == 3
    call_command("runs", "show", str(run.id))
    assert capsys.readouterr().out.count("taken over") == 3


@pytest.mark.promise("EV-02")
def test_a_time_that_no_calendar_has_breaks_no_page_and_no_verification(
    served_world: World, roles: Roles, console: Client
) -> None:
    api = api_of(make_user("rita", *READER))
    for time in NO_TIMES:
        run = ended(served_world)
        with roles.as_owner() as session, without_triggers(session):
            session.execute(
                "UPDATE events_runevent SET at = %s WHERE correlation_id = %s AND number >= 2",
                [time, run.correlation_id],
            )
        assert shown(api, console, run) == {200}, time
        assert told(api, run) == "changed"
        assert verified(str(run.correlation_id)) == {"changed"}


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("column", ["sealed_count", "sealed_in"])
def test_a_number_of_a_seal_below_nothing_keeps_no_other_chain_from_being_sealed_and_verified(
    column: str, served_world: World, roles: Roles
) -> None:
    api = api_of(make_user("rita", *READER))
    spoilt, later = ended(served_world), ended(served_world)
    with roles.as_runtime() as session:
        session.execute(
            f"UPDATE events_eventhead SET {column} = -5, is_unsealed = true WHERE correlation_id = %s",
            [spoilt.correlation_id],
        )
        values = [later.correlation_id, later.id, later.mission, "step", "{}"]
        session.execute(APPEND, values)
    assert seal_due(lambda: False) == 1
    assert told(api, spoilt) == "sealed_otherwise"
    assert verified(str(spoilt.correlation_id)) == {"sealed_otherwise"}
    assert verified(str(later.correlation_id)) == {"untagged"}


@pytest.mark.promise("EV-02")
def test_a_head_whose_last_event_is_not_there_is_sealed_with_no_other(
    served_world: World, roles: Roles
) -> None:
    """Else the root that holds it would be none: its numbers too large, or its leaves out of place."""
    world = served_world
    spoilt = [ended(world) for _ in range(2)]
    kept = world.start(says("done"))
    assert world.process().carry().id == kept.id
    with roles.as_owner() as session, without_triggers(session):
        for run, change in zip(spoilt, ("hash = ''", f"count = {(1 << 63) - 1}"), strict=True):
            session.execute(
                f"UPDATE events_eventhead SET {change}, is_unsealed = true WHERE correlation_id = %s",
                [run.correlation_id],
            )
    assert seal_due(lambda: False) == 1
    assert packed(Run.objects.get(id=kept.id)) == "holds, ended"
    assert verified("root") == frozenset()
    for run in spoilt:
        assert verified(str(run.correlation_id)) == {"cut_off"}


@pytest.mark.parametrize("time", ["4000-01-01 BC", "infinity"], ids=["before", "behind"])
def test_times_beyond_the_calendar_lead_no_list_on_for_ever(
    time: str, served_world: World, roles: Roles
) -> None:
    api = api_of(User.objects.create_superuser("root"))
    for _ in range(4):
        run = ended(served_world)
        filed(run, title="disk 4")
        doubt(run)
    with roles.as_owner() as session, without_triggers(session):
        for table, column in TIMES:
            session.execute(f"UPDATE {table} SET {column} = %s", [time])
    for address in LISTS:
        pages, place = 0, f"{address}limit=1"
        while place:
            page = api.get(place)
            assert page.status == 200, place
            place, pages = page.data["next"], pages + 1
            assert pages < 7, address


@pytest.mark.promise("EV-02")
def test_a_certificate_that_somebody_wrote_is_told_of_and_ends_no_verification(
    served_world: World, roles: Roles, console: Client
) -> None:
    api = api_of(make_user("rita", *READER))
    run = ended(served_world)
    for days, at in ((2**31 - 1, "infinity"), (-(2**31), "-infinity"), (1, "294000-01-01")):
        with roles.as_owner() as session, without_triggers(session):
            session.execute("DELETE FROM events_purgecertificate")
            values = [run.correlation_id, at, days, "4000-01-01 BC"]
            session.execute(CERTIFICATE, values)
        assert verified(str(run.correlation_id)) == {"purged_early", "not_whole"}
        assert shown(api, console, run) == {200}
    with roles.as_owner() as session, without_triggers(session):
        session.execute(
            "UPDATE events_purgecertificate SET at = 'infinity', count = %s", [2**63 - 1]
        )
    later = ended(served_world)
    assert seal_due(lambda: False) == 0
    assert told(api, later) == "intact"
    with roles.as_owner() as session, without_triggers(session):
        gone = [run.correlation_id]
        session.execute("DELETE FROM events_runevent WHERE correlation_id = %s", gone)
        session.execute("DELETE FROM events_eventhead WHERE correlation_id = %s", gone)
    assert verified(str(run.correlation_id)) == {"purged_early"}
    assert verified("root") == {"purged_early"}
    assert shown(api, console, run) == {200}


@pytest.mark.parametrize("content", ["{}", "{x", '{"step":"x"}', '{"step":99999999999}'])
def test_a_step_that_was_forged_into_the_log_ends_the_run_as_one_that_was_put_back(
    content: str, served_world: World, roles: Roles
) -> None:
    world = served_world
    lost = world.start(calls(("v/keyed", {"title": "a"})), says("done"))
    first = world.process("a")
    first.take()
    with roles.as_runtime() as session:
        session.execute(APPEND, [lost.correlation_id, lost.id, lost.mission, "step", content])
    world.prove_dead(first)
    run = world.process("b").carry()
    assert (run.status, run.error) == ("failed", "checkpoint.broken")
    assert world.vendor.rows == []
