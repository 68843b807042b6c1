"""What is asked whole is carried out by every way in, though its caller is gone with the last byte (ruling 29, CR-05)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from liyagent.access.keys import create_key
from liyagent.agents.models import Agent
from liyagent.asgi import application
from liyagent.entry.cron.triggers import save_trigger
from liyagent.entry.models import Arrival
from liyagent.entry.whom import Saver
from runs.models import Run
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World

world = world_of.world
TRIGGER = {"agent": "triage", "task": "look", "schedule": "0 10 * * *", "timezone": "UTC"}
MESSAGE = {
    "jsonrpc": "2.0", "id": 1, "method": "message/send",
    "params": {"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "look"}]},
        "configuration": {"blocking": False}},
}  # fmt: skip


@pytest.fixture
def token(world: World) -> str:
    Agent.objects.update(channels=["*"])
    User.objects.create_superuser("root")
    save_trigger("nightly", TRIGGER, saver=Saver(actor="root", username="root"))
    return create_key(name="test", username="root", scopes=["*"]).token


def send_and_be_gone(path: str, body: Any, *, token: str) -> list[int]:
    """As the server tells it: the body whole, and at once that nobody is there any more."""
    content = json.dumps(body).encode()
    headers = {
        "host": "127.0.0.1", "authorization": f"Bearer {token}", "content-type": "application/json",
        "content-length": str(len(content)),
    }  # fmt: skip
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), it.encode()) for name, it in headers.items()],
    }  # fmt: skip
    told = [{"type": "http.request", "body": content, "more_body": False}]
    statuses: list[int] = []

    async def receive() -> Any:
        return told.pop() if told else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    asyncio.run(application(scope, receive, send))
    return statuses


@pytest.mark.promise("CR-05")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/agents/triage/runs", {"task": "look"}),
        ("/api/cron-triggers/nightly/run", None),
        ("/a2a/triage", MESSAGE),
    ],
)
def test_a_run_is_started_though_its_caller_is_gone(
    world: World, token: str, path: str, body: Any
) -> None:
    assert send_and_be_gone(path, body, token=token)[0] in {200, 202}
    assert Run.objects.count() == 1
    assert Arrival.objects.count() == int(not path.endswith("/triage/runs"))
