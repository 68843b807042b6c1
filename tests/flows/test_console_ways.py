"""At night the lists of the ways in, of jobs and of what they made say what they show, and what a person does with it."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models.functions import Now
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.entry.cron.models import CronTrigger
from liyagent.jobs.sources.models import Source
from tests.databases import FreshDatabase

SAID = {
    "entry/arrival": "What came in by the ways",
    "entry/delivery": "send it again",
    "cron/crontrigger": "mend what its reason says and save it again",
    "webhooks/trigger": "mend the mapping",
    "teams/teamsbot": "manage.py teams check KEY",
    "copilot/conversation": "look at the newest run",
    "jobs/job": "is asked for anew",
    "sagas/saga": "Open one to see what is left, and what to do",
    "sources/source": "goes on once the source is saved again",
    "red_teams/finding": "another red team after that",
    "classifiers/classifier": "has learned nothing",
}
ABOUT = re.compile(r'id="about">(.*?)</p>', re.DOTALL)


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("page", SAID)
def test_each_list_says_above_it_what_is_to_be_done(root: Client, page: str) -> None:
    (about,) = ABOUT.findall(root.get(f"/admin/{page}/").content.decode())
    assert SAID[page] in about


def test_a_room_is_named_in_words(root: Client) -> None:
    page = root.get("/admin/red_teams/finding/").content.decode()
    assert "Red_Teams" not in page


def test_the_dashboard_tells_of_schedules_that_stand_still(root: Client, agent: Agent) -> None:
    assert "stand still" not in root.get("/admin/").content.decode()
    CronTrigger.objects.create(key="nightly", agent_key="triage", task="t", schedule="0 2 * * *", problem="no zone", next_slot=Now(), updated_at=Now())  # fmt: skip
    Source.objects.create(
        key="handbook", kind="folder", problem="ann may no longer operate", updated_at=Now()
    )
    cache.clear()
    page = root.get("/admin/").content.decode()
    assert "1 cron trigger(s) stand still" in page
    assert "1 source(s) whose schedule stands still" in page
