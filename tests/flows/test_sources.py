"""Sources and jobs over the API, in the console and at the shell."""

from __future__ import annotations

import dataclasses
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from liyagent.core.errors import LiyagentError
from liyagent.jobs.models import Job
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.work import work_due
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user

ALL, ONE = "/api/sources", "/api/sources/handbook"


@pytest.fixture
def docs(
    operator: Api, fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder that may be read, with two files."""
    root = tmp_path.resolve()
    conf = dataclasses.replace(settings.LIYAGENT, source_roots=(root,))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(OWN, "holder", None)
    (root / "a.md").write_text("# Printers\nPull the paper out.")
    (root / "b.txt").write_text("Disks fill.")
    return root


def given(docs: Path) -> dict[str, object]:
    return {"kind": "folder", "agents": ["triage"], "settings": {"folder": str(docs)}}


def work() -> None:
    """What the round of a process does."""
    OWN.holder = register_holder(
        own_identity(), name="w", lease_seconds=30, formats=[1], key_ids=["k"]
    )
    work_due(lambda: False)


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_source_is_kept_synced_shown_and_removed(operator: Api, docs: Path) -> None:
    made = operator.send("PUT", ONE, given(docs))
    assert (made.status, made.data["documents"], made.data["last_sync"]) == (201, 0, None)
    asked = operator.post(f"{ONE}/sync", {}, **{"X-Liyagent-Mission": "library"})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    job = asked.data["job"]
    assert (job["status"], job["kind"], job["subject"], job["mission"]) == ("queued", "source_sync", "handbook", "library")  # fmt: skip
    again = operator.post(f"{ONE}/sync", {})
    assert (again.data["is_new"], again.data["job"]["id"]) == (False, job["id"])
    work()
    found = operator.get(f"/api/jobs/{job['id']}").data
    assert (found["status"], found["done"], found["total"]) == ("done", 2, 2)
    shown = operator.get(ONE).data
    assert (shown["documents"], shown["last_sync"]["status"]) == (2, "done")
    page = operator.get(f"{ONE}/documents?limit=1").data
    assert [it["path"] for it in page["documents"]] == ["a.md"]
    assert "text" not in page["documents"][0]
    rest = operator.get(page["next"]).data
    assert ([it["path"] for it in rest["documents"]], rest["next"]) == (["b.txt"], None)
    assert operator.send("PUT", ONE, {"agents": []}).status == 200
    assert operator.send("DELETE", ONE).status == 204
    gone = operator.get(ONE)
    assert (gone.status, gone.data["code"]) == (404, "sources.not_found")
    assert not Document.objects.exists()


def test_what_cannot_be_kept_is_told_by_field(operator: Api, docs: Path) -> None:
    refused = operator.send("PUT", ONE, {"kind": "folder", "agents": 7, "settings": {"folder": "/"}, "x": 1})  # fmt: skip
    assert (refused.status, refused.data["code"]) == (400, "sources.invalid")
    assert {it["field"] for it in refused.data["errors"]} == {"agents", "settings", "x"}
    assert operator.send("PUT", ONE, []).status == 400
    assert operator.send("PUT", "/api/sources/no%20key", given(docs)).status == 400
    assert operator.post("/api/sources/none/sync", {}).status == 404
    assert operator.get("/api/sources/none/documents").status == 404
    assert not Source.objects.exists()


def test_jobs_are_listed_by_page_and_filter_and_cancelled_once(operator: Api, docs: Path) -> None:
    for key in ("a", "b", "c"):
        operator.send("PUT", f"/api/sources/{key}", given(docs))
        operator.post(f"/api/sources/{key}/sync", {})
    page = operator.get("/api/jobs?limit=2").data
    assert [it["subject"] for it in page["jobs"]] == ["c", "b"]
    rest = operator.get(page["next"]).data
    assert ([it["subject"] for it in rest["jobs"]], rest["next"]) == (["a"], None)
    job = f"/api/jobs/{page['jobs'][0]['id']}"
    ended = operator.post(f"{job}/cancel", {})
    assert (ended.status, ended.data["status"], ended.data["reason"]) == (200, "cancelled", "cancelled by olga")  # fmt: skip
    again = operator.post(f"{job}/cancel", {})
    assert (again.status, again.data["code"]) == (409, "jobs.ended")
    assert [it["subject"] for it in operator.get("/api/jobs?status=cancelled").data["jobs"]] == ["c"]  # fmt: skip
    assert [it["subject"] for it in operator.get("/api/jobs?kind=source_sync&subject=a").data["jobs"]] == ["a"]  # fmt: skip
    for wrong in ("status=gone", "colour=red", "cursor=x", "limit=0"):
        assert operator.get(f"/api/jobs?{wrong}").status == 400
    for wrong in ("/api/jobs/x", "/api/jobs/018f0000-0000-7000-8000-000000000000"):
        assert operator.get(wrong).data["code"] == "jobs.not_found"


def test_who_may_only_see_changes_nothing(operator: Api, docs: Path) -> None:
    operator.send("PUT", ONE, given(docs))
    job = operator.post(f"{ONE}/sync", {}).data["job"]["id"]
    viewer = api_of(make_user("vera", "agents.view_agent"))
    nobody = api_of(make_user("nobody"))
    assert viewer.get(ALL).status == viewer.get("/api/jobs").status == 200
    for method, path in (("PUT", ONE), ("DELETE", ONE), ("POST", f"{ONE}/sync"), ("POST", f"/api/jobs/{job}/cancel")):  # fmt: skip
        assert viewer.send(method, path, {}).status == 403
    for path in (ALL, ONE, f"{ONE}/documents", "/api/jobs", f"/api/jobs/{job}"):
        assert nobody.get(path).status == 403
        assert Api().get(path).status == 401
    assert Job.objects.get().status == "queued"


def test_the_shell_keeps_syncs_lists_and_cancels(operator: Api, docs: Path) -> None:
    said = shell("sources", "save", "handbook", f"--folder={docs}", "--agent=triage", "--agent=ops-*")  # fmt: skip
    assert said == "handbook: kept; triage, ops-* may search it once it is synced\n"
    assert "is asked for" in shell("sources", "sync", "handbook")
    assert "is queued already" in shell("sources", "sync", "handbook")
    work()
    assert "done" in shell("sources", "list")
    assert "a.md" in shell("sources", "documents", "handbook")
    job = Job.objects.get()
    assert str(job.id) in shell("jobs", "list", "--status=done")
    assert "done      2 of 2" in shell("jobs", "show", str(job.id))
    with pytest.raises(LiyagentError, match="has ended as done"):
        shell("jobs", "cancel", str(job.id))
    shell("sources", "sync", "handbook")
    assert "cancelled" in shell("jobs", "cancel", str(Job.objects.first().id))  # type: ignore[union-attr]
    with pytest.raises(CommandError, match="not allowed with"):
        shell("sources", "save", "x", "--folder=/a", "--server=b")
    with pytest.raises(LiyagentError, match="kind is missing: folder, urls, mcp_resources"):
        shell("sources", "save", "x", "--agent=*")
    with pytest.raises(LiyagentError, match="agents is missing"):
        shell("sources", "save", "x", f"--folder={docs}")
    assert shell("sources", "remove", "handbook") == "handbook: removed\n"


def test_the_console_shows_and_syncs(operator: Api, docs: Path) -> None:
    User.objects.create_superuser("root", password="x")
    console = Client()
    console.force_login(User.objects.get(username="root"))
    made = console.post(
        "/admin/sources/source/add/",
        {"key": "handbook", "kind": "folder", "agents": '["triage"]', "settings": f'{{"folder": "{docs}"}}'},
    )  # fmt: skip
    assert made.status_code == 302
    source = Source.objects.get()
    page = f"/admin/sources/source/{source.pk}"
    assert console.get(f"{page}/sync_now/").status_code == 200
    assert console.post(f"{page}/sync_now/").status_code == 302
    work()
    job, document = Job.objects.get(), Document.objects.get(path="a.md")
    assert job.status == "done"
    for address, said in (
        ("/admin/sources/source/", "2 of 2"),
        (f"{page}/change/", "handbook"),
        ("/admin/jobs/job/", "source sync of handbook"),
        (f"/admin/jobs/job/{job.pk}/change/", "2 of 2"),
        ("/admin/sources/document/", "a.md"),
        (f"/admin/sources/document/{document.pk}/change/", "Pull the paper out."),
        (f"/admin/jobs/job/{job.pk}/cancel/", "Cancel it"),
        (f"{page}/remove/", "Remove it"),
    ):
        answer = console.get(address, follow=True)
        assert answer.status_code == 200
        assert said in answer.content.decode(), address
    refused = console.post("/admin/sources/source/add/", {"key": "x", "kind": "folder", "agents": "[]", "settings": "{}"}, follow=True)  # fmt: skip
    assert "Nothing was saved" in refused.content.decode() or "required" in refused.content.decode()
    assert Source.objects.count() == 1
    reader = make_user("vera", "agents.view_agent")
    User.objects.filter(pk=reader.pk).update(is_staff=True)
    console.force_login(User.objects.get(pk=reader.pk))
    shown = console.get(f"/admin/sources/document/{document.pk}/change/").content.decode()
    assert ("a.md" in shown, "Pull the paper" in shown) == (True, False)
    assert console.post(f"{page}/remove/").status_code == 403
    assert console.post(f"/admin/jobs/job/{job.pk}/cancel/").status_code == 403
