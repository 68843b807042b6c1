"""`/api/runs/{id}/stream`: each event once, whatever breaks in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from liyagent.access.models import ApiKey
from liyagent.agents.models import Agent
from liyagent.core.readiness import STATE
from runs import stream
from runs.models import Run, RunStatus
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying
from tests.flows.conftest import READER, Api, api_of, make_user
from tests.flows.serving import Stream, serving

APPEND = "SELECT liyagent_append_events(%s, %s, 'M', 'full', %s, %s)"


@pytest.fixture
def port(fresh_db: FreshDatabase) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture
def run(agent: Agent) -> Run:
    """A queued run that nobody carries."""
    started = start_run(
        agent_key="triage", task="Look.", entry="api", started_by="", mission="", request_id=""
    )
    return Run.objects.get(id=started.run_id)


@pytest.fixture
def append(fresh_db: FreshDatabase, run: Run) -> Iterator[Callable[..., None]]:
    """Append events to the run's chain, as the hot path does."""
    with psycopg.connect(fresh_db.url, autocommit=True) as hot:

        def append_events(*contents: str, kind: str = "step", run_id: UUID | None = None) -> None:
            kinds = [kind] * len(contents)
            hot.execute(APPEND, [run.correlation_id, run_id or run.id, kinds, list(contents)])

        yield append_events


def end(run: Run) -> None:
    Run.objects.filter(id=run.id).update(status=RunStatus.ANSWERED)


def path_of(run: Run) -> str:
    return f"/api/runs/{run.id}/stream"


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_run_is_told_from_start_to_end_while_it_runs(
    reader: Api, port: int, agent: Agent
) -> None:
    started = reader.post("/api/agents/triage/runs", {"task": "Look."})
    listening = Stream(port=port, token=reader.token)
    assert listening.open(f"{started.data['url']}/stream") == 200
    assert listening.response.headers["Content-Type"] == "text/event-stream"
    with carrying():
        told = listening.events()
    assert told[0].event == "run.started"
    assert told[0].data["kind"] == "run.started"
    assert told[0].data["run_id"] == started.data["id"]
    assert [it.id for it in told[:-1]] == [str(it.data["number"]) for it in told[:-1]]
    assert (told[-2].event, told[-1].event) == ("run.ended", "end")
    assert told[-1].id == ""


def test_events_come_as_they_are_committed_and_none_of_another_run(
    reader: Api, port: int, run: Run, append: Callable[..., None]
) -> None:
    append('{"step":1,"text":"a"}')
    listening = Stream(port=port, token=reader.token)
    listening.open(path_of(run))
    assert [it.data["content"]["step"] for it in listening.events(1)] == [1]
    append('{"step":9}', run_id=UUID(int=9))
    append('{"step":2,"number":123456789012345678901234567890}')
    (second,) = listening.events(1)
    assert second.data["content"] == {"step": 2, "number": 123456789012345678901234567890}
    end(run)
    assert [it.event for it in listening.events()] == ["end"]


def test_a_client_that_comes_back_with_its_last_id_misses_nothing_and_sees_nothing_twice(
    reader: Api, port: int, run: Run, append: Callable[..., None]
) -> None:
    append(*(f'{{"step":{step}}}' for step in range(1, 200)))
    seen: list[int] = []
    last = "0"
    while len(seen) < 199:
        # Each time on a connection of its own, as after the death of a process.
        listening = Stream(port=port, token=reader.token)
        listening.open(f"{path_of(run)}?cursor=0", Last_Event_ID=last)
        for told in listening.events(min(60, 199 - len(seen))):
            seen.append(told.data["content"]["step"])
            last = told.id
        listening.close()
    assert seen == list(range(1, 200))
    end(run)
    assert Stream(port=port, token=reader.token).open(path_of(run), Last_Event_ID=last) == 204


def test_words_are_for_those_who_may_read_them(
    operator: Api, port: int, run: Run, append: Callable[..., None]
) -> None:
    append('{"step":1,"text":"secret","unheard_of":"secret","fate":"done"}')
    end(run)
    listening = Stream(port=port, token=operator.token)
    listening.open(path_of(run))
    first = listening.events()[0].data["content"]
    assert first == {"step": 1, "fate": "done", "withheld": ["text", "unheard_of"]}


def test_strangers_unknown_runs_and_bad_cursors_are_refused(
    stranger: Api, reader: Api, port: int, run: Run
) -> None:
    def status(api: Api, path: str, **headers: str) -> int:
        return Stream(port=port, token=api.token).open(path, **headers)

    assert status(Api(), path_of(run)) == 401
    assert status(Api(), f"/api/runs/{UUID(int=1)}/stream") == 401
    assert status(stranger, path_of(run)) == 403
    assert status(reader, f"/api/runs/{UUID(int=1)}/stream") == 404
    for cursor in ("x", "-1", "1" * 19, ""):
        assert status(reader, f"{path_of(run)}?cursor={cursor}") == 400
    assert status(reader, path_of(run), Last_Event_ID="x") == 400
    assert status(reader, f"{path_of(run)}?since=1") == 400


def test_a_quiet_stream_has_a_heartbeat(
    reader: Api, port: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    listening = Stream(port=port, token=reader.token)
    listening.open(path_of(run))
    blocks = listening.blocks()
    assert next(blocks).lines == ["retry: 1000"]
    assert next(blocks).lines == [": "]


@pytest.mark.parametrize("taken", ["key", "permission", "user"])
def test_a_right_taken_away_ends_the_stream(
    taken: str, port: int, run: Run, monkeypatch: pytest.MonkeyPatch, fresh_db: FreshDatabase
) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.05)
    user = make_user("rita", *READER)
    listening = Stream(port=port, token=api_of(user).token)
    assert listening.open(path_of(run)) == 200
    blocks = listening.blocks()
    next(blocks)
    next(blocks)
    if taken == "key":
        ApiKey.objects.all().delete()
    elif taken == "permission":
        user.user_permissions.clear()
    else:
        User.objects.filter(id=user.id).update(is_active=False)
    assert [it.event for it in blocks if it.event] == []


def test_a_right_to_words_that_is_taken_away_withholds_what_comes_after(
    port: int, run: Run, append: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.05)
    user = make_user("rita", *READER)
    listening = Stream(port=port, token=api_of(user).token)
    assert listening.open(path_of(run)) == 200

    def told() -> object:
        append('{"step":1,"text":"secret"}')
        (event,) = listening.events(1)
        return event.data["content"]

    assert told() == {"step": 1, "text": "secret"}
    user.user_permissions.remove(Permission.objects.get(codename="content.read"))
    wait_until(lambda: told() == {"step": 1, "withheld": ["text"]})
    assert told() == {"step": 1, "withheld": ["text"]}


def test_a_session_that_ends_ends_its_stream(
    port: int, run: Run, monkeypatch: pytest.MonkeyPatch, fresh_db: FreshDatabase
) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.05)
    browser = Client()
    browser.force_login(make_user("rita", *READER))
    listening = Stream(port=port, token="")
    cookie = f"sessionid={browser.cookies['sessionid'].value}"
    assert listening.open(path_of(run), Cookie=cookie) == 200
    blocks = listening.blocks()
    assert [next(blocks).lines for _ in range(3)] == [["retry: 1000"], [": "], [": "]]
    browser.logout()
    assert [it.event for it in blocks if it.event] == []


def test_a_draining_process_sends_its_listeners_elsewhere_and_takes_no_more(
    reader: Api, port: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = Stream(port=port, token=reader.token)
    listening.open(path_of(run))
    blocks = listening.blocks()
    next(blocks)
    monkeypatch.setattr(STATE, "is_draining", True)
    assert [it.lines for it in blocks] == [["retry: 300"]]
    late = Stream(port=port, token=reader.token)
    assert late.open(path_of(run)) == 503
    assert late.response.headers["Retry-After"] == "5"
    assert late.response.headers["Content-Type"] == "application/problem+json"


def test_quiet_streams_hold_no_thread_and_no_connection_and_are_bounded(
    reader: Api, port: int, run: Run, fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = 100
    monkeypatch.setattr(stream, "MOST_STREAMS", many)

    def sessions() -> int:
        with psycopg.connect(fresh_db.url) as asking:
            row = asking.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchone()
            assert row is not None
            return int(row[0])

    listening = [Stream(port=port, token=reader.token) for _ in range(many)]
    threads_before = threading.active_count()
    for it in listening:
        assert it.open(path_of(run)) == 200
        next(it.blocks())
    wait_until(lambda: threading.active_count() <= threads_before + 6)
    wait_until(lambda: sessions() <= 8)
    assert Stream(port=port, token=reader.token).open(path_of(run)) == 503
    for it in listening:
        it.close()
    wait_until(lambda: not stream.LOOKOUT.watched)
    assert Stream(port=port, token=reader.token).open(path_of(run)) == 200
