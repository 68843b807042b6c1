"""Conversations over real HTTP: whoever waits, hangs up or comes again, one turn is one run and one answer (CR-05, CR-08)."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.asgi import application
from liyagent.entry.copilot.models import Conversation, Turn
from runs.models import Run
from tests.flows.carrying import carrying
from tests.flows.conftest import OPERATOR, READER, api_of, make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, says

world = world_of.world
LIST = "/api/copilot/conversations"
HANG_UPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """A person's client that speaks over a wire."""

    port: int
    token: str

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named |= {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, headers=named)
        response = connection.getresponse()
        told = response.read()
        connection.close()
        return response.status, json.loads(told)

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        return self.send("POST", path, body, **headers)

    def get(self, path: str) -> tuple[int, Any]:
        return self.send("GET", path)

    def begin(self, **facts: Any) -> str:
        """Begin a conversation; return the address of its turns."""
        status, told = self.post(LIST, {"agent": "triage", **facts})
        assert status == 201
        return f"{LIST}/{told['id']}/turns"

    def hang_up(self, path: str, body: Any, **headers: str) -> None:
        """Send a request whole, and be gone."""
        content = json.dumps(body)
        named = {**headers, "authorization": f"Bearer {self.token}"}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(
                f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                f"content-length: {len(content)}\r\n{lines}\r\n{content}".encode()
            )


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture
def ann(port: int) -> Http:
    """One who may operate, and see nothing but her own."""
    return Http(port=port, token=api_of(make_user("ann", "agents.operate")).token)


def until(holds: Callable[[], Any], *, seconds: float = 20) -> Any:
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return found


@pytest.mark.promise("CR-05")
def test_whoever_waits_is_answered_and_the_next_turn_goes_on(world: World, ann: Http) -> None:
    turns = ann.begin(title="disks")
    world.model.steps = [says("old logs")]
    with carrying():
        status, first = ann.post(f"{turns}?wait=10", {"task": "what fills /var?"})
        assert (status, first["status"], first["answer"]) == (200, "answered", "old logs")
        status, second = ann.post(f"{turns}?wait=10", {"task": "clean it"})
    assert (second["number"], second["given"], second["left_out"]) == (2, 1, 0)
    said = [(it.role.value, it.text) for it in world.model.asked[-1].messages]
    assert said == [
        ("user", "what fills /var?"),
        ("assistant", "old logs"),
        ("user", "clean it"),
    ]
    _, told = ann.get(turns.removesuffix("/turns"))
    assert [(it["task"], it["answer"]) for it in told["turns_told"]] == [
        ("what fills /var?", "old logs"),
        ("clean it", "old logs"),
    ]
    assert (told["title"], told["turns"], told["next"]) == ("disks", 2, None)


@pytest.mark.promise("CR-05")
def test_a_caller_that_hangs_up_changes_nothing(world: World, ann: Http) -> None:
    begun = [ann.begin() for _ in range(HANG_UPS)]
    world.model.steps = [says("old logs")]
    for turns in begun:
        ann.hang_up(f"{turns}?wait=10", {"task": "what fills /var?"}, idempotency_key="k-1")
    with carrying():
        until(lambda: Turn.objects.filter(outcome="answered").count() == HANG_UPS)
    for turns in begun:
        status, told = ann.post(turns, {"task": "what fills /var?"}, idempotency_key="k-1")
        assert (status, told["answer"]) == (202, "old logs")
    assert Run.objects.count() == HANG_UPS


@pytest.mark.promise("CR-05")
def test_one_that_is_gone_with_its_last_byte_is_carried_out_all_the_same(
    world: World, ann: Http
) -> None:
    """As the server tells it: the body whole, and at once that nobody is there any more."""
    turns, content = ann.begin(), json.dumps({"task": "one"}).encode()
    headers = {
        "authorization": f"Bearer {ann.token}",
        "content-type": "application/json",
        "content-length": str(len(content)),
    }
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": turns, "raw_path": turns.encode(),
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", ann.port),
        "headers": [(b"host", b"127.0.0.1"), *((name.encode(), it.encode()) for name, it in headers.items())],
    }  # fmt: skip
    told = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Any:
        return told.pop() if told else {"type": "http.disconnect"}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    asyncio.run(application(scope, receive, send))
    assert statuses == [202]
    assert Turn.objects.count() == Run.objects.count() == 1


@pytest.mark.field("FL-70")
def test_a_turn_asked_from_many_sides_at_once_is_one_run_and_another_is_told_to_wait(
    world: World, ann: Http
) -> None:
    turns = ann.begin()
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: ann.post(turns, {"task": "one"}, idempotency_key="k-1"), range(16))
        )
    assert {status for status, _ in answers} == {202}
    (run_id,) = {told["run_id"] for _, told in answers}
    status, told = ann.post(turns, {"task": "two"})
    assert (status, told["code"]) == (409, "copilot.turn_open")
    assert run_id in told["detail"]
    status, told = ann.post(turns, {"task": "two"}, idempotency_key="k-1")
    assert (status, told["code"]) == (409, "copilot.turn_key_reused")
    assert Run.objects.count() == 1


def test_what_is_refused_is_a_problem_and_nothing_is_kept(world: World, ann: Http) -> None:
    turns = ann.begin()
    nowhere = f"{LIST}/01a22aa6-24a9-79f2-bf4e-8833694fa02d/turns"
    refused = [
        (404, ann.post(LIST, {"agent": "nobody"})),
        (400, ann.post(LIST, {"agent": "triage", "titel": "x"})),
        (400, ann.post(LIST, {"agent": "triage", "title": "x" * 201})),
        (404, ann.post(nowhere, {"task": "x"})),
        (400, ann.post(turns, {"task": " "})),
        (400, ann.post(turns, {})),
        (400, ann.post(turns, {"task": "x" * 200_001})),
        (400, ann.post(f"{turns}?wait=61", {"task": "x"})),
        (400, ann.post(turns, {"task": "x"}, idempotency_key="a b")),
        (400, ann.get(f"{LIST}?cursor=nonsense")),
        (400, ann.get(f"{LIST}?owner=bob")),
        (405, ann.get(turns)),
    ]
    assert [status for _, (status, _) in refused] == [status for status, _ in refused]
    assert all("code" in told or "title" in told for _, (_, told) in refused)
    assert not Turn.objects.exists()
    assert Conversation.objects.count() == 1


def test_a_closed_channel_is_told_at_once_and_at_each_turn(world: World, ann: Http) -> None:
    turns = ann.begin()
    Agent.objects.update(channels=["api"])
    assert ann.post(LIST, {"agent": "triage"})[0] == 403
    status, told = ann.post(turns, {"task": "x"})
    assert (status, told["code"]) == (403, "agent.channel_closed")
    assert not Turn.objects.exists()


def test_a_conversation_is_its_owner_s_and_of_who_may_see_all(
    world: World, port: int, ann: Http
) -> None:
    turns = ann.begin()
    world.model.steps = [says("old logs")]
    with carrying():
        ann.post(f"{turns}?wait=10", {"task": "what fills /var?"})
    one = turns.removesuffix("/turns")
    bob = Http(port=port, token=api_of(make_user("bob", "agents.operate")).token)
    assert bob.get(one)[0] == 404
    assert bob.post(turns, {"task": "x"})[0] == 404
    assert bob.get(LIST)[1] == {"conversations": [], "next": None}
    olga = Http(port=port, token=api_of(make_user("olga", *OPERATOR)).token)
    assert "answer" not in olga.get(one)[1]["turns_told"][0]
    assert [it["owner"] for it in olga.get(f"{LIST}?owner=ann")[1]["conversations"]] == ["ann"]
    assert olga.post(turns, {"task": "x"})[0] == 404
    rita = Http(port=port, token=api_of(make_user("rita", *READER)).token)
    assert rita.get(one)[1]["turns_told"][0]["answer"] == "old logs"
    assert Run.objects.count() == 1


def test_lists_lead_on_by_their_cursor(world: World, ann: Http) -> None:
    begun = [ann.begin(title=str(number)) for number in range(5)]
    found: list[str] = []
    page: str | None = f"{LIST}?limit=2"
    while page:
        _, told = ann.get(page)
        found += [it["title"] for it in told["conversations"]]
        page = told["next"]
    assert found == ["4", "3", "2", "1", "0"]
    world.model.steps = [says("done")]
    with carrying():
        for number in range(3):
            ann.post(f"{begun[0]}?wait=10", {"task": str(number)})
    page, numbers = f"{begun[0].removesuffix('/turns')}?limit=2", []
    while page:
        _, told = ann.get(page)
        numbers.append([it["number"] for it in told["turns_told"]])
        page = told["next"]
    assert numbers == [[1, 2], [3]]


def test_a_person_with_a_hundred_empty_conversations_is_asked_to_come_later(
    world: World, ann: Http
) -> None:
    now = Conversation(agent_key="triage", owner="ann", mission="m")
    ann.begin()
    first = Conversation.objects.get()
    Conversation.objects.bulk_create(
        Conversation(
            id=f"01a22aa6-24a9-79f2-bf4e-{number:012d}",
            agent_key=now.agent_key,
            owner=now.owner,
            mission=now.mission,
            created_at=first.created_at,
            changed_at=first.changed_at,
        )
        for number in range(99)
    )
    status, _ = ann.post(LIST, {"agent": "triage"})
    assert status == 429


def test_the_console_lists_conversations_and_turns_without_any_words(
    world: World, ann: Http
) -> None:
    turns = ann.begin(title="plumtree")
    world.model.steps = [says("plumtree")]
    with carrying():
        ann.post(f"{turns}?wait=10", {"task": "plumtree"})
    olga = make_user("olga", *OPERATOR)
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    browser = Client()
    browser.force_login(olga)
    listed = browser.get("/admin/copilot/conversation/").content.decode()
    conversation = Conversation.objects.get()
    assert f"/admin/copilot/turn/?q={conversation.id}" in listed
    shown = browser.get(f"/admin/copilot/turn/?q={conversation.id}").content.decode()
    assert str(Turn.objects.get().run_id) in shown
    assert "plumtree" not in shown + listed
    assert "Nothing" not in shown
    nothing = browser.get("/admin/copilot/turn/?q=nonsense").content.decode()
    assert str(Turn.objects.get().run_id) not in nothing
