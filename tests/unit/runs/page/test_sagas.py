"""A saga's page says at night what was done, undone, held, unknown and failed, and why; its buttons do what they name."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.gateway.local import ToolFailed
from runs.models import Call, Run
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import decided, let_decide
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.test_compensation import MAP, fail, undone
from tests.unit.runs.page.conftest import WORDS, reader, words

OPERATE = "agents.operate"
THREE = (("v/keyed", {"name": "a"}), ("v/readable", {"x": 1}), ("v/blind", {"secret": "hush"}))


@pytest.fixture
def undoing(world: World, settings: Settings) -> World:
    """The agent's map says how each write is undone; a write that fails is tried again at once."""
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    Agent.objects.update(compensations=MAP)
    return world


@pytest.fixture
def root(world: World) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def refuse_undos(world: World, *tools: str) -> None:
    """These tools answer their undos with an error."""

    def fails(tool: str) -> None:
        if tool in tools and Saga.objects.exclude(status="open").exists():
            raise ToolFailed("locked by change freeze")

    world.vendor.before_effect = fails


def saga_page(client: Client, saga: UUID, asked: str = "") -> str:
    response = client.get(f"/admin/sagas/saga/{saga}/{asked or 'change/'}")
    assert response.status_code == 200
    return str(response.content.decode())


def part(html: str, name: str) -> str:
    """The words of the element with this id, up to the next one."""
    return words("<x " + html.partition(f'id="{name}"')[2].partition(' id="')[0])


def more_undos(world: World, run: Run, number: int) -> None:
    """So many undos more, as rows."""
    world.sql(
        "INSERT INTO sagas_undo SELECT (jsonb_populate_record(u, jsonb_build_object('id', 1000 + n, 'order', u.\"order\" + n,"
        " 'step', u.step + n, 'key', n::text))).* FROM sagas_undo u, generate_series(1, %s) AS n"
        ' WHERE u.saga_id = %s AND u."order" = 3',
        number,
        run.id,
    )
    world.sql("UPDATE sagas_saga SET registered = registered + %s WHERE id = %s", number, run.id)


@pytest.mark.promise("SG-08", "SG-11")
def test_the_first_sentence_says_how_it_stands_and_the_next_what_to_do(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    being = saga_page(root, run.id)
    assert f"Run {run.id} of agent triage failed" in part(being, "sentence")
    assert "Of 3 writes 3 are not undone yet." in part(being, "sentence")
    assert "Wait: it is being undone just now" in part(being, "to-do")
    refuse_undos(undoing, "blind")
    undone(undoing)
    html = saga_page(root, run.id)
    assert "Of 3 writes 2 are undone, 1 could not be undone." in part(html, "sentence")
    assert "not all undone" in part(html, "stands")
    assert "A person is asked whether it shall begin again, or be closed." in part(html, "handed")
    told = part(html, "to-do")
    assert told.index("See below why an undo failed") < told.index(
        "Then decide whether it begins again"
    )


@pytest.mark.promise("SG-08")
def test_each_write_is_told_with_its_undo_what_became_of_it_and_why(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    refuse_undos(undoing, "blind")
    undone(undoing)
    html = saga_page(root, run.id)
    third, second = part(html, "undo-3"), part(html, "undo-2")
    assert html.index('id="undo-3"') < html.index('id="undo-2"') < html.index('id="undo-1"')
    assert "v/blind step 3, call 1" in third
    assert "could not be undone 3 tries" in third
    assert "locked by change freeze" in third
    assert '"undo_of": 3' in third
    assert "undone 1 try" in second
    assert "its call" in second
    place = f"/admin/runs/run/{run.id}/change/?steps=1#call-3-0"
    assert f'href="{place}"' in html
    rounds = Run.objects.get(loop="undo:1")
    assert f"/admin/runs/run/{rounds.id}/change/" in html.partition('id="rounds"')[2]


def test_words_are_for_those_who_may_read_them(undoing: World) -> None:
    run = fail(undoing, *THREE)
    refuse_undos(undoing, "blind")
    undone(undoing)
    plain, full = saga_page(reader(), run.id), saga_page(reader(WORDS), run.id)
    for word in ("locked by change freeze", "undo_of"):
        assert word not in plain
        assert word in full
    assert "could not be undone" in plain
    assert "transcripts.content.read" in plain


def test_an_undo_that_misses_a_key_names_it(undoing: World, root: Client) -> None:
    Agent.objects.update(
        compensations={"v/blind": {"tool": "blind", "args": {"of": "{{ result.number }}"}}}
    )
    run = fail(undoing, ("v/blind", {"x": 1}))
    html = saga_page(root, run.id)
    assert "cannot be undone by itself" in part(html, "undo-1")
    assert "result.number" in part(html, "undo-1")
    assert "Undo by hand" in part(html, "to-do")
    assert "result.number" in part(saga_page(reader(), run.id), "undo-1")


@pytest.mark.field("FL-66")
def test_what_is_held_leads_to_its_request(undoing: World, root: Client) -> None:
    let_decide("olga")
    run = fail(undoing, *THREE)
    undoing.sql("UPDATE agents_agent SET write_posture = 'hold'")
    undoing.sql("UPDATE agents_configversion SET version = version + 1")
    undone(undoing)
    html = saga_page(root, run.id)
    assert "Of 3 writes 3 are held for approval." in part(html, "sentence")
    held = Undo.objects.get(saga_id=run.id, order=3)
    assert held.approval is not None
    assert f"/admin/approvals/approval/{held.approval}/change/" in html
    assert f"/admin/approvals/approval/{held.approval}/" not in saga_page(reader(), run.id)
    decided(Approval.objects.get(id=held.approval), ApprovalStatus.REJECTED)
    assert "refused by olga: looked at" in part(saga_page(root, run.id), "undo-3")


def test_calls_of_unknown_outcome_lead_to_where_a_person_says_what_happened(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    undone(undoing)
    undoing.sql("UPDATE runs_call SET fate = 'unknown' WHERE run_id = %s AND step = 3", run.id)
    undoing.sql("SELECT liyagent_judge_saga(%s)", run.id)
    html = saga_page(root, run.id)
    call = Call.objects.get(run_id=run.id, step=3)
    assert "1 sent call is of unknown outcome." in part(html, "sentence")
    assert f'href="/admin/runs/call/{call.id}/change/"' in html
    assert call.step_key in part(html, "unknown")
    assert "/admin/runs/call/" not in saga_page(reader(), run.id)


@pytest.mark.promise("SG-07", "SG-11")
def test_what_is_owed_is_undone_after_a_confirmation_that_names_it(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    refuse_undos(undoing, "blind")
    undone(undoing)
    ask = f"/admin/sagas/saga/{run.id}/compensate/"
    asked = words(root.get(f"{ask}?reason=x&confirmed=yes").content.decode())
    assert "1 undo is made" in asked
    assert "3 v/blind v/blind could not be undone" in asked
    assert "v/keyed" not in asked
    assert "This field is required" in root.post(ask, {"confirmed": "yes"}).content.decode()
    assert Run.objects.filter(loop__startswith="undo:").count() == 1
    undoing.vendor.before_effect = lambda _tool: None
    root.post(ask, {"reason": "the freeze is over", "confirmed": "yes"})
    assert undoing.audit("saga.compensating")[-1]["reason"] == "the freeze is over"
    undoing.process("second").carry()
    html = saga_page(root, run.id)
    assert "All 3 writes are undone." in part(html, "sentence")
    assert "compensate/" not in html
    refused = root.post(ask, {"reason": "once more", "confirmed": "yes"}, follow=True)
    assert "Nothing of this saga is owed" in words(refused.content.decode())


@pytest.mark.promise("SG-09")
def test_it_is_closed_after_a_confirmation_that_names_what_stays(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    refuse_undos(undoing, "blind", "keyed")
    undone(undoing)
    ask = f"/admin/sagas/saga/{run.id}/close/"
    asked = words(root.get(ask).content.decode())
    assert "This cannot be taken back." in asked
    assert "request to begin it again is withdrawn" in asked
    assert re.search(r"3 v/blind .* 1 v/keyed", asked)
    assert "v/readable" not in asked
    root.post(ask, {"reason": "done\nby hand", "confirmed": "yes"})
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, saga.closed_by, saga.closed_reason) == ("closed", "root", "done by hand")
    html = saga_page(root, run.id)
    assert "Closed by root" in part(html, "stands")
    assert "/close/" not in html
    assert 'id="to-do"' not in html
    told = words(root.post(ask, {"reason": "x", "confirmed": "yes"}, follow=True).content.decode())
    assert "it was closed before: done by hand" in told


def test_buttons_are_for_those_who_may_operate(undoing: World) -> None:
    run = fail(undoing, *THREE)
    refuse_undos(undoing, "blind")
    undone(undoing)
    seeing, working = reader(), reader(OPERATE)
    assert f"/sagas/saga/{run.id}/compensate/" not in saga_page(seeing, run.id)
    assert f"/sagas/saga/{run.id}/compensate/" in saga_page(working, run.id)
    for verb in ("compensate", "close"):
        given = {"reason": "x", "confirmed": "yes"}
        assert seeing.post(f"/admin/sagas/saga/{run.id}/{verb}/", given).status_code == 403
    assert Saga.objects.get(id=run.id).status == "partial"
    assert (
        working.post(f"/admin/sagas/saga/{run.id}/change/", {"status": "open"}).status_code == 403
    )


def test_a_page_of_two_hundred_undos_shows_fifty_and_asks_as_often_as_one_of_three(
    undoing: World, root: Client
) -> None:
    run = fail(undoing, *THREE)
    undone(undoing)
    saga_page(root, run.id)
    with CaptureQueriesContext(connection) as few:
        saga_page(root, run.id)
    more_undos(undoing, run, 197)
    with CaptureQueriesContext(connection) as many:
        html = saga_page(root, run.id)
    assert len(many) == len(few)
    shown = re.findall(r'id="undo-(\d+)"', html)
    assert shown == [str(it) for it in range(200, 150, -1)]
    assert "page 1 of 4" in words(html)
    assert 'id="undo-1"' in saga_page(root, run.id, "change/?undos=4")
    for asked in ("5", "99999999", "-1", "x"):
        assert "of 4" in words(saga_page(root, run.id, f"change/?undos={asked}"))


def test_the_list_says_what_became_of_each_and_is_narrowed(undoing: World, root: Client) -> None:
    first = fail(undoing, *THREE)
    undone(undoing)
    second = fail(undoing, ("v/keyed", {"name": "b"}), ("v/blind", {"x": 1}))
    refuse_undos(undoing, "blind")
    undone(undoing, name="second")
    shown = words(root.get("/admin/sagas/saga/").content.decode())
    assert shown.index(str(second.id)) < shown.index(str(first.id))
    assert "1 undone 1 failed" in shown
    assert "3 undone" in shown
    for asked, there in (
        ("status=needs", [second]), ("status=compensated", [first]), ("status=partial&cause=failed", [second]),
        ("cause=cap", []), ("agent_key=triage&status=compensated", [first]), ("workflow=none", []),
        (f"q={first.id}", [first]), (f"q={second.mission}", [second]), ("q=nothing", []),
    ):  # fmt: skip
        listed = root.get(f"/admin/sagas/saga/?{asked}").content.decode()
        found = [it for it in (first, second) if f"/admin/sagas/saga/{it.id}/change/" in listed]
        assert found == there, asked


def test_hostile_words_are_shown_and_not_obeyed(undoing: World, root: Client) -> None:
    run = fail(undoing, *THREE)
    hostile = "<img src=x onerror=alert(1)>\u202eevil\u200b"
    undoing.sql(
        "UPDATE sagas_undo SET note = %s, of_tool = %s, tool = %s", hostile, hostile, hostile
    )
    undoing.sql(
        "UPDATE sagas_saga SET workflow = %s, failed_step = %s, mission = %s",
        hostile[:40],
        hostile[:40],
        "m",
    )
    undoing.sql("UPDATE runs_run SET reason = %s WHERE id = %s", hostile, run.id)
    for page in (saga_page(root, run.id), root.get("/admin/sagas/saga/").content.decode()):
        assert "<img" not in page
        assert not [it for it in "\u202e\u200b" if it in page]
