"""What was never sent is not in doubt: one rule for the list, the API, the console, its counts, the shell and the metrics."""

from __future__ import annotations

import re
from uuid import uuid4

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.operation.questions import WRITES
from runs.models import Call, Run
from runs.unsettled import IN_DOUBT, UNSETTLED, unsettled_ids
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.doubting import doubt, ended_run

OPEN = {"fate": "", "settlement": "", "late_finding": ""}
HELD = {**OPEN, "intent": "held"}
LIST = "/api/calls/in-doubt"


@pytest.fixture
def sent(agent: Agent) -> list[int]:
    """The ids of what is in doubt; beside it lies what waits for a person, was withdrawn, or was handed down."""
    run = ended_run(status="paused")
    found = [
        doubt(run, step_key="unknown-key").id,
        doubt(run, number=1, step_key="open-key", **OPEN).id,
    ]
    doubt(run, number=2, step_key="held-key", approval_id=uuid4(), **HELD)
    doubt(run, number=3, step_key="went-on-key", approval_id=uuid4(), **{**HELD, "fate": "held"})
    doubt(run, number=4, step_key="handed-key", server="agents", tool="reader", **OPEN)
    return found


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    cache.clear()
    return client


def test_the_api_and_the_rule_list_what_was_sent(agent: Agent, sent: list[int]) -> None:
    api = api_of(make_user("sara", "runs.view_call"))
    assert [it["id"] for it in api.get(LIST).data["calls"]] == sent
    assert [it["id"] for it in api.get(f"{LIST}?state=open").data["calls"]] == sent[1:]
    assert list(Call.objects.filter(IN_DOUBT).order_by("id").values_list("id", flat=True)) == sent
    assert unsettled_ids() == sent[1:]


def test_the_console_lists_and_counts_what_was_sent(root: Client, sent: list[int]) -> None:
    keys = ("unknown-key", "open-key", "held-key", "went-on-key", "handed-key")

    def listed(asked: str) -> list[str]:
        page = root.get(f"/admin/runs/call/{asked}").content.decode()
        return [it for it in keys if it in page]

    assert listed("") == ["unknown-key", "open-key"]
    assert listed("?doubt=unsettled") == ["open-key"]
    assert listed("?doubt=waits") == ["held-key"]
    assert listed("?doubt=held") == ["went-on-key"]
    board = " ".join(root.get("/admin/").content.decode().split())
    assert re.search(r'doubt=unsettled">1 not settled yet', board)
    assert re.search(r'doubt=unknown">1</a>', board)


def test_the_shell_lists_what_was_sent(sent: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("doubts", "list")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == [str(it) for it in sent]
    assert len(lines) == 4


def test_the_metrics_count_what_was_sent(sent: list[int], fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url) as asking:
        told = {name: value for name, _, value in asking.execute(WRITES)}
    assert (told["writes_in_doubt"], told["unknown_writes"]) == (1, 1)


def test_one_that_is_not_sent_says_what_it_waits_for(operator: Api, sent: list[int]) -> None:
    api = api_of(make_user("sara", "runs.view_call"))
    held, handed = (Call.objects.get(step_key=it).id for it in ("held-key", "handed-key"))
    told = api.get(f"/api/calls/{held}").data
    assert (told["state"], told["known"]) == (
        "waits",
        "It was not sent: it is held for a person.",
    )
    told = api.get(f"/api/calls/{handed}").data
    assert (told["state"], told["to_do"]) == ("waits", "")
    assert "sub-agent works on it" in told["known"]


def test_what_waits_for_a_person_stands_in_no_index_of_doubts(
    fresh_db: FreshDatabase, agent: Agent
) -> None:
    """A hundred thousand requests that wait cost the list of doubts nothing."""
    run = ended_run(status="waiting")
    for number in range(3):
        doubt(run, number=number, approval_id=uuid4(), **HELD)
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'runs_sent_in_doubt'")
        ((defined,),) = cursor.fetchall()
        cursor.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        query = Call.objects.filter(UNSETTLED).order_by("marked_at", "id")[:10]
        assert "runs_sent_in_doubt" in query.explain()
        assert "intent" in defined
    assert Run.objects.filter(id=run.id).exists()
