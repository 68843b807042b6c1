"""The small world of runs, and the console in which their pages are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from runs.models import Run
from tests.unit.approvals.conftest import cut
from tests.unit.runs.carrying.conftest import world
from tests.unit.runs.conftest import server
from tests.unit.runs.delegating.conftest import cast

__all__ = ["cast", "cut", "server", "world"]

WORDS = "transcripts.content.read"
EVENTS = "events.view_runevent"
Reading = Callable[..., str]


def reader(*permissions: str) -> Client:
    """A browser of somebody who may see runs, and these things more."""
    user = User.objects.create_user(f"reader{User.objects.count()}", is_staff=True)
    for permission in ("runs.view_run", *permissions):
        app, _, codename = permission.partition(".")
        known = Permission.objects.get(content_type__app_label=app, codename=codename)
        user.user_permissions.add(known)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def page(world: Any) -> Reading:
    """What a run's page answers: to who may see all, unless another reader is named."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))

    def read(run: Run, asked: str = "", *, by: Client | None = None) -> str:
        response = (by or client).get(f"/admin/runs/run/{run.id}/{asked or 'change/'}")
        assert response.status_code == 200
        return str(response.content.decode())

    return read


def words(html: str) -> str:
    """What a page shows, its markup taken out."""
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
    return re.sub(r" ([,.;:])", r"\1", text)


def timeline(html: str) -> str:
    """What is shown from the timeline on."""
    return words(html.partition('id="steps-title"')[2])
