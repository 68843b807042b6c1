"""The audit log and confidential concerns in the console."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from liyagent.audit.concerns import open_concern
from liyagent.audit.models import AuditRow, Concern
from liyagent.audit.record import record
from missions.context import Stamp, stamped
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user

LOG, CONCERNS = "/admin/audit/auditrow/", "/admin/audit/concern/"


def client_of(name: str, *permissions: str) -> Client:
    user = make_user(name, *permissions)
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def auditor(fresh_db: FreshDatabase) -> Client:
    return client_of("kim", "audit.view_auditrow", "audit.view_concern", "audit.handle_concern")


def test_a_digest_is_cut_in_the_log_and_stands_in_full_on_its_row(auditor: Client) -> None:
    digest = "8ca2e7f72ac45bc875f44477c67a96fa4043ae05db181c8c66b3edf1621ac63d"
    record("thing.done", actor="ann", detail={"digest": digest, "run": "01a22c78-7adc-7913"})
    page = auditor.get(LOG).content.decode()
    assert ("digest: 8ca2e7f72ac4…" in page, digest in page) == (True, False)
    assert "run: 01a22c78-7adc-7913" in page
    row = AuditRow.objects.get(action="thing.done")
    assert digest in auditor.get(f"{LOG}{row.id}/change/").content.decode()


@pytest.mark.promise("MI-03")
def test_the_log_is_narrowed_by_each_stamp_and_a_row_tells_all_of_them(auditor: Client) -> None:
    for number, actor, agent, mission in (
        (1, "ann", "triage", "INC-7"),
        (2, "bob", "triage", "INC-8"),
        (3, "ann", "other", "INC-7"),
    ):
        with stamped(Stamp(request_id=f"r-{number}", mission=mission, address="10.0.0.9")):
            record(f"thing.done.{number}", actor=actor, agent=agent)
    for asked, shown in {
        "": {1, 2, 3},
        "actor=ann": {1, 3},
        "agent=triage": {1, 2},
        "mission=INC-7": {1, 3},
        "mission=INC-7&agent=triage": {1},
        "action=thing.done": {1, 2, 3},
        "action=thing.done.2&when=1h": {2},
        "q=INC-8": {2},
        "q=other": {3},
        "q=thing.done": {1, 2, 3},
        "q=ann&actor=bob": set(),
        "run=00000000-0000-7000-8000-000000000001": set(),
        "run=x": set(),
        "mission=%27": set(),
    }.items():
        page = auditor.get(f"{LOG}?{asked}")
        assert page.status_code == 200
        rows = page.context["cl"].queryset.values_list("action", flat=True)
        assert {int(it[-1]) for it in rows if it.startswith("thing.")} == shown, asked
    row = AuditRow.objects.get(action="thing.done.1")
    text = auditor.get(f"{LOG}{row.pk}/change/").content.decode()
    for told in ("thing.done.1", "ann", "triage", "INC-7", "r-1", "from 10.0.0.9"):
        assert told in text


def test_a_row_that_was_written_in_confidence_says_so(auditor: Client) -> None:
    open_concern(opened_by="ann")
    record("thing.done", actor="ann")
    row = AuditRow.objects.get(action="thing.done")
    assert "confidential" in auditor.get(f"{LOG}{row.pk}/change/").content.decode()


def test_a_concern_is_opened_and_closed_on_pages_of_their_own(auditor: Client) -> None:
    assert "may see concerns" in auditor.get(f"{CONCERNS}open/").content.decode()
    auditor.post(f"{CONCERNS}open/", {"actor": "ann", "mission": "INC-7", "confirmed": "yes"})
    assert not Concern.objects.exists()
    auditor.post(f"{CONCERNS}open/", {"actor": "ann", "reference": "HR-1", "confirmed": "yes"})
    concern = Concern.objects.get()
    assert (concern.subject, concern.opened_by, concern.closed_at) == ("ann", "kim", None)
    assert "HR-1" in auditor.get(f"{CONCERNS}?state=open").content.decode()
    assert auditor.get(f"{CONCERNS}{concern.pk}/change/").status_code == 200
    close = f"{CONCERNS}{concern.pk}/close_one/"
    assert auditor.get(close).status_code == 200
    concern.refresh_from_db()
    assert concern.closed_at is None
    auditor.post(close, {"confirmed": "yes"})
    concern.refresh_from_db()
    assert concern.closed_by == "kim"


def test_whoever_may_see_concerns_alone_opens_and_closes_none(auditor: Client) -> None:
    concern = open_concern(opened_by="kim", actor="ann")
    seer = client_of("vera", "audit.view_concern")
    assert seer.get(CONCERNS).status_code == 200
    for path in ("open/", f"{concern.pk}/close_one/"):
        assert seer.post(f"{CONCERNS}{path}", {"actor": "x", "confirmed": "yes"}).status_code == 403
    assert Concern.objects.get().closed_at is None
    assert client_of("stan", "audit.view_auditrow").get(CONCERNS).status_code == 403
    assert User.objects.count() == 3
    assert Permission.objects.filter(content_type__model="concern").count() == 2
