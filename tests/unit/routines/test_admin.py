"""Routines in the console: read by who sees agents, words by who reads words, changed by POST alone, through the verbs."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.approvals.models import Approval
from liyagent.gateway.models import Tool
from liyagent.jobs.models import Job
from liyagent.workflows.models import Workflow
from routines.adopt import adopt_routine
from routines.models import Routine
from tests.flows.conftest import make_user
from tests.unit.routines.conftest import Mine, closed
from tests.unit.routines.stored import definition, move_on, store
from tests.unit.routines.test_adopt import approve, now
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]

LIST = "/admin/routines/routine/"
HOSTILE = "<img src=x onerror=alert(1)>"


def logged_in(*permissions: str, name: str = "vera", is_root: bool = False) -> Client:
    user = User.objects.create_superuser(name) if is_root else make_user(name, *permissions)
    user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


def page_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.status_code
    return unescape(answer.content.decode())


def at(routine: Routine, verb: str = "change") -> str:
    return f"{LIST}{routine.pk}/{verb}/"


def send(client: Client, path: str, given: dict[str, Any] | None = None) -> str:
    answer = client.post(path, {**(given or {}), "confirmed": "yes"}, follow=True)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


@pytest.mark.promise("RT-05")
def test_it_is_asked_for_dismissed_and_never_by_looking(world: World) -> None:
    root, routine = logged_in(is_root=True), store()
    for verb in ("change", "adopt", "dismiss"):
        page_of(root, at(routine, verb))
    assert now(routine).state == "suggested"
    said = send(root, at(routine, "adopt"), {"digest": routine.digest})
    assert "Somebody who may decide is asked" in said
    assert (now(routine).state, Approval.objects.get().requested_by) == ("filed", "vera")
    assert "its digest is" in send(root, at(routine, "adopt"), {"digest": "0" * 64})
    assert "never suggested again" in send(root, at(routine, "dismiss"), {"reason": "no"})
    assert (now(routine).state, Approval.objects.get().status) == ("dismissed", "withdrawn")
    assert "It was dismissed" in page_of(root, at(routine))


def test_who_only_sees_agents_reads_no_values_and_does_nothing(world: World) -> None:
    routine = store(of=definition(kind="secret-ish value"))
    vera = logged_in("agents.view_agent")
    html = page_of(vera, at(routine))
    assert "secret-ish value" not in html
    assert "transcripts.content.read" in html
    assert "Ask for its adoption" not in html
    page_of(vera, LIST)
    for verb in ("adopt", "dismiss", "make-parameter"):
        assert vera.get(at(routine, verb)).status_code == 403
        assert vera.post(at(routine, verb), {"place": "/s2/kind"}).status_code == 403
    assert vera.post(f"{LIST}mine/triage/").status_code == 403
    assert now(routine).state == "suggested"
    nobody = logged_in(name="nora")
    assert nobody.get(LIST).status_code == 403
    assert nobody.get(at(routine)).status_code == 403


def test_hostile_values_are_written_out(world: World) -> None:
    routine = store(
        of=definition(kind=f"{HOSTILE}\u202e"), reason=HOSTILE, state="dismissed",
        origins=[{"place": "/s2/kind", "shown": f"s2 {HOSTILE}", "kind": "literal", "reads": "", "distinct": 1, "why": HOSTILE}],
        score={"runs": 1, "runs_matched": 0, "mismatched": 1, "mismatches": [{"run": "no id", "step": "s2", "shown": HOSTILE, "why": HOSTILE}]},
    )  # fmt: skip
    root = logged_in(is_root=True)
    raw = root.get(at(routine)).content.decode()
    assert HOSTILE not in raw
    assert "\u202e" not in raw
    assert "0 of 1 run the same on paper" in unescape(raw)


def test_what_hinders_its_adoption_is_said_on_its_page(world: World) -> None:
    root, routine = logged_in(is_root=True), store()
    asked = adopt_routine(routine_id=routine.id, actor="anna").approval
    move_on(routine, definition(kind="reboot"))
    assert "It changed since its adoption was asked for" in page_of(root, at(routine))
    html = page_of(root, f"/admin/approvals/approval/{asked.id}/change/")
    assert "It cannot be approved any more" in html
    assert "$.steps[s2].args.kind" in html
    given = {"reason": "yes", "digest": asked.digest}
    refused = root.post(f"/admin/approvals/approval/{asked.id}/approve/", given)
    assert refused.status_code == 409
    assert "Your decision was not taken" in refused.content.decode()
    assert not Workflow.objects.exists()
    Tool.objects.filter(name="keyed").update(description="another")
    assert "It is stale, and cannot be adopted" in page_of(root, at(routine))
    assert "stale: a tool changed" in page_of(root, LIST)


@pytest.mark.promise("RT-05")
def test_it_is_adopted_on_the_page_of_its_request(world: World) -> None:
    routine = store()
    asked = adopt_routine(routine_id=routine.id, actor="anna").approval
    ben = logged_in("approvals.decide", "approvals.view_approval", name="ben")
    html = page_of(ben, f"/admin/approvals/approval/{asked.id}/change/")
    assert "Nothing changed since it was asked for" in html
    assert routine.digest in html
    assert '"restart"' in html
    said = send(ben, f"/admin/approvals/approval/{asked.id}/approve/", {"reason": "yes", "digest": asked.digest})  # fmt: skip
    assert "it is saved as a workflow" in said
    assert (now(routine).state, Workflow.objects.get().digest) == ("adopted", routine.digest)
    html = page_of(ben, f"/admin/approvals/approval/{asked.id}/change/")
    assert "adopted: the workflow was saved" in html
    vera = logged_in("approvals.view_approval", name="viv")
    html = page_of(vera, f"/admin/approvals/approval/{asked.id}/change/")
    assert '"restart"' not in html
    assert "Exactly this is saved" not in html


def test_an_adopted_one_tells_how_it_does(world: World) -> None:
    routine = store()
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    root = logged_in(is_root=True)
    html = page_of(root, at(routine))
    assert "no run of it has ended yet" in html
    (start,) = re.findall(r'href="(/admin/workflows/workflow/\d+/run-it/)"', html)
    assert "task" in page_of(root, start)
    assert "Dismiss for good" not in html


def test_a_literal_is_made_a_parameter_and_the_runs_are_looked_through_again(mine: Mine) -> None:
    mine.past(closed(it) for it in range(3))
    mine.mine()
    root, routine = logged_in(is_root=True), mine.only()
    assert "Make it a parameter" in page_of(root, at(routine))
    asks = f"{at(routine, 'make-parameter')}?place=/s2/queue"
    assert "Make this value a parameter?" in page_of(root, asks)
    assert mine.only().digest == routine.digest
    given = {"place": "/s2/queue", "digest": routine.digest, "name": "where"}
    assert "has another digest" in send(root, at(routine, "make-parameter"), given)
    assert mine.only().as_parameters == [{"place": "/s2/queue", "name": "where"}]
    assert "by now" in send(root, at(routine, "make-parameter"), given)
    assert root.get(f"{at(routine, 'make-parameter')}?place=/s9/x").status_code == 404
    assert root.get(f"{LIST}mine/nobody/").status_code == 404
    page_of(root, f"{LIST}mine/triage/")
    assert Job.objects.count() == 1
    assert "are looked through" in send(root, f"{LIST}mine/triage/")
    assert Job.objects.count() == 2


def test_the_list_reads_no_definition_and_asks_as_often_for_many(world: World) -> None:
    root = logged_in(is_root=True)
    for number in range(3):
        store(pattern=f"{number:064}")

    def asked() -> list[str]:
        page_of(root, LIST)
        with CaptureQueriesContext(connection) as captured:
            page_of(root, LIST)
        return [it["sql"] for it in captured.captured_queries]

    few = asked()
    assert not [it for it in few if '"routines_routine"."definition"' in it or '"origins"' in it]
    for number in range(3, 30):
        store(pattern=f"{number:064}")
    assert len(asked()) == len(few)
    found = page_of(root, f"{LIST}?q=nobody")
    assert "v/look" not in found
    assert "v/look" in page_of(root, f"{LIST}?q=triage")
