"""A database that was put back is said to be so on the console's first page, to those who see what is contained."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from events.models import Rollback
from tests.databases import FreshDatabase
from tests.unit.runs.page.conftest import words


def test_the_first_page_says_that_the_database_was_put_back_and_what_to_do(
    fresh_db: FreshDatabase,
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    assert 'id="rolled-back"' not in client.get("/admin/").content.decode()
    found = Rollback.objects.create(
        found_at="2026-06-01T03:00:00Z",
        reason="behind",
        sentence="root 12 <b>was exported",
        exported="{}",
    )
    shown = client.get("/admin/").content.decode()
    assert "Root 12 &lt;b&gt;was exported" in shown
    assert "manage.py events accept-rollback" in words(shown)
    Rollback.objects.filter(id=found.id).update(accepted_at="2026-06-01T04:00:00Z", epoch=2)
    assert 'id="rolled-back"' not in client.get("/admin/").content.decode()
