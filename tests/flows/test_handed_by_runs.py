"""What runs hand over, as the API and the console show it: the thread, the run's page, the saga, the request (HO-03, HO-04)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.content import content_of
from events.models import RunEvent
from liyagent.approvals.models import Approval
from runs.models import Run
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.test_console_run_page import page_of
from tests.flows.test_delegation import child_of, handed, viewer
from tests.flows.test_handoffs_tampered import changed_by_hand
from tests.unit.runs.carrying.conftest import World, world
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO, stubborn

__all__ = ["handed", "stubborn", "undoing", "viewer", "world"]


@pytest.fixture
def rita(fresh_db: FreshDatabase) -> Api:
    """One who sees runs and reads their words."""
    return api_of(make_user("rita", "runs.view_run", "transcripts.content.read"))


def the_thread(run: Run) -> str:
    """The thread that the run's first event of a hand-off names."""
    event = RunEvent.objects.filter(run_id=run.id, kind="handoff").order_by("number").first()
    assert event is not None
    return str(content_of(event.content)["thread"])


def content(version: dict[str, Any]) -> str:
    """What is hashed, by anybody's own tools."""
    return f'{{"body":{version["text"]},"from":"{version["from"]}","kind":"{version["kind"]}","to":"{version["to"]}"}}'


@pytest.mark.promise("HO-03", "HO-04", "HO-01")
def test_a_delegation_is_shown_whole_to_who_may_read_words(handed: Run, viewer: User) -> None:
    shown = api_of(viewer).get(f"/api/handoffs/{the_thread(handed)}").data
    assert (shown["chain_holds"], shown["problems"]) == (True, [])
    task, back = shown["versions"]
    assert (task["from"], task["to"], task["kind"]) == ("agent:lead", "agent:helper", "delegation")
    assert (task["body"], task["verified"]) == ({"task": "look at web-17"}, True)
    assert back["body"] == {"answer": "web-17 is well", "status": "answered"}
    assert back["parent"] == task["digest"]
    read = {(it["version"], it["reader"], it["run_id"]) for it in shown["readings"]}
    assert read == {
        (1, "agent:helper", str(child_of(handed).id)), (2, "agent:lead", str(handed.id)),
    }  # fmt: skip
    text = content({**task, "text": '{"task":"look at web-17"}'})
    assert hashlib.sha256(text.encode()).hexdigest() == task["digest"]


@pytest.mark.promise("HO-03")
def test_who_may_not_read_words_sees_facts_and_digests(
    handed: Run, fresh_db: FreshDatabase
) -> None:
    api = api_of(make_user("fay", "runs.view_run"))
    answer = api.get(f"/api/handoffs/{the_thread(handed)}")
    assert (answer.status, answer.data["chain_holds"]) == (200, True)
    assert "web-17" not in str(answer.data)


@pytest.mark.promise("HO-04")
def test_a_run_s_page_tells_of_what_it_handed_over_and_read(handed: Run, viewer: User) -> None:
    of_parent = page_of(viewer, handed.id)
    assert "It handed this over: version 1 of a thread" in of_parent
    assert "It read what came back: version 2 of a thread" in of_parent
    assert f'href="/admin/handoffs/version/{the_thread(handed)}/change/"' in of_parent
    assert "digest of what was handed over" in of_parent
    of_child = page_of(viewer, child_of(handed).id)
    assert "It read what it was handed: version 1 of a thread" in of_child


@pytest.mark.promise("HO-03")
def test_a_saga_and_its_request_name_what_was_handed_over(stubborn: World, rita: Api) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    saga = rita.get(f"/api/sagas/{run.id}").data
    shown = rita.get(f"/api/handoffs/{saga['filed']['thread']}").data
    (version,) = shown["versions"]
    assert (version["verified"], version["digest"]) == (True, saga["handoff_digest"])
    assert (version["from"], version["to"]) == ("agent:triage", "people")
    assert version["body"]["not_undone"][0]["error"] == "locked by change freeze"
    request = Approval.objects.get(kind="saga")
    make_user("kim", "approvals.decide", "approvals.view_approval")
    deciding = api_of(User.objects.get(username="kim"))
    told = deciding.get(f"/api/approvals/{request.id}").data
    assert told["handoff_digest"] == version["digest"]
    given = {"reason": "seen", "digest": told["digest"]}
    assert deciding.post(f"/api/approvals/{request.id}/reject", given).status == 200
    (reading,) = rita.get(f"/api/handoffs/{saga['filed']['thread']}").data["readings"]
    assert (reading["reader"], reading["version"], reading["run_id"]) == ("kim", 1, None)
    pages = Client()
    pages.force_login(User.objects.create_superuser("root"))
    saga_page = pages.get(f"/admin/sagas/saga/{run.id}/change/").content.decode()
    thread_page = f"/admin/handoffs/version/{saga['filed']['thread']}/change/"
    assert f'href="{thread_page}"' in saga_page
    assert pages.get(thread_page).status_code == 200
    for path in (f"sagas/saga/{run.id}", f"approvals/approval/{request.id}"):
        assert version["digest"] in pages.get(f"/admin/{path}/change/").content.decode()


@pytest.mark.promise("HO-01", "HO-03")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sagas_saga SET handoff_digest = repeat('a', 64); UPDATE approvals_approval SET handoff_digest = repeat('a', 64)",
        "UPDATE sagas_saga SET handoff_digest = ''; UPDATE approvals_approval SET handoff_digest = ''",
        "UPDATE handoffs_snapshot SET body = '{}'",
        "UPDATE handoffs_version SET author = 'eve'",
        "DELETE FROM handoffs_version",
    ],
    ids=["the digest", "no digest", "what was handed over", "its version", "none left"],
)
def test_a_saga_and_its_request_tell_that_what_was_handed_over_was_changed(
    stubborn: World, rita: Api, change: str
) -> None:
    run = fail(stubborn, *TWO)
    undone(stubborn)
    request = Approval.objects.get(kind="saga")
    make_user("kim", "approvals.decide", "approvals.view_approval")
    kim = api_of(User.objects.get(username="kim"))
    pages = Client()
    pages.force_login(User.objects.create_superuser("root"))
    shown = (f"sagas/saga/{run.id}", f"approvals/approval/{request.id}")

    def problems() -> list[str]:
        saga = rita.get(f"/api/sagas/{run.id}").data["filed"]
        return [
            saga["handoff_problem"],
            kim.get(f"/api/approvals/{request.id}").data["handoff_problem"],
        ]

    def told() -> list[bool]:
        texts = [pages.get(f"/admin/{path}/change/").content.decode() for path in shown]
        return ["not verified" in it for it in texts]

    assert (problems(), told()) == (["", ""], [False, False])
    changed_by_hand(change)
    assert "" not in problems()
    assert told() == [True, True]
