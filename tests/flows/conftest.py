"""Fixtures of the flows: people with permissions, keys of theirs, an agent, and a client that speaks JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from liyagent.access.keys import create_key
from liyagent.agents.definitions import save_agent
from liyagent.agents.models import Agent
from tests.databases import FreshDatabase

OPERATOR = ("agents.operate", "agents.view_agent", "runs.view_run")
READER = (*OPERATOR, "transcripts.content.read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; `data` is the parsed body."""

    status: int
    data: Any
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A client with an API key, or with none."""

    token: str = ""

    def get(self, path: str, **headers: str) -> Answer:
        """GET."""
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """POST `body`: as it is where it is bytes, else as JSON."""
        return self.send("POST", path, body, **headers)

    def send(self, method: str, path: str, body: Any = b"", **headers: str) -> Answer:
        """Send one request; nothing raised in a view comes through, as over a wire."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        content_type = headers.pop("content_type", "application/json")
        if self.token:
            headers.setdefault("authorization", f"Bearer {self.token}")
        client = Client(raise_request_exception=False)
        response = client.generic(method, path, content, content_type=content_type, headers=headers)
        is_json = response.get("Content-Type", "").endswith("json")
        data = json.loads(response.content) if is_json and response.content else response.content
        return Answer(status=response.status_code, data=data, headers=dict(response.items()))


def make_user(name: str, *permissions: str) -> User:
    """Make a user who holds `permissions` (`app.codename`)."""
    user = User.objects.create_user(name)
    for permission in permissions:
        app, _, codename = permission.partition(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app, codename=codename)
        )
    return user


def api_of(user: User) -> Api:
    """Return a client with a fresh key of `user`."""
    return Api(token=create_key(name="test", username=user.username).token)


@pytest.fixture
def operator(fresh_db: FreshDatabase) -> Api:
    """One who may start, see and stop runs, but read no words."""
    return api_of(make_user("olga", *OPERATOR))


@pytest.fixture
def reader(fresh_db: FreshDatabase) -> Api:
    """One who may read words as well."""
    return api_of(make_user("rita", *READER))


@pytest.fixture
def stranger(fresh_db: FreshDatabase) -> Api:
    """One who has a key and no permission."""
    return api_of(make_user("stan"))


@pytest.fixture
def agent(fresh_db: FreshDatabase) -> Agent:
    """An agent to start runs of."""
    definition = {
        "key": "triage",
        "name": "Triage",
        "provider": "scripted",
        "model": "triage-keyed",
    }
    return save_agent(definition, actor="test")
