"""A trigger, the sender whose secret it has, and a world that its runs are carried in."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.triggers import save_trigger
from liyagent.entry.whom import Saver
from tests.fakes.signer import new_secret, standard_headers
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]

SECRET_ENV, OLDER_ENV = "PAGER_SECRET", "PAGER_SECRET_OLDER"
SAVER = Saver(actor="test", may_name_others=True)
ALERT: dict[str, Any] = {"host": "db-1", "problem": "disk full", "at": "2026-11-30T03:00:00Z"}
TASK = "{{ problem }} on {{ host }}"


@dataclass(slots=True, kw_only=True)
class Hooks:
    """What a test of this way works with."""

    world: World
    secret: str
    older: str
    sent: int = field(default=0)

    def save(self, **given: Any) -> Trigger:
        """Save the trigger `pager`."""
        return save_trigger("pager", given, saver=SAVER)

    def post(
        self,
        payload: Any = None,
        *,
        of: str = "",
        age: float = 0.0,
        secrets: Any = None,
        key: str = "pager",
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a signed call to this process, of an id of its own; nothing raised comes through."""
        self.sent += 1
        payload = ALERT if payload is None else payload
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        signed = standard_headers(
            body,
            secrets=[self.secret] if secrets is None else secrets,
            message=of or f"msg_{self.sent}",
            at=int(time.time() - age),
        )
        return self.raw(body, key=key, **{**signed, **(headers or {})})

    def raw(self, body: bytes, *, key: str = "pager", **headers: str) -> Any:
        """Send as it is."""
        content_type = headers.pop("content_type", "application/json")
        given = {name: value for name, value in headers.items() if value}
        return Client(raise_request_exception=False).generic(
            "POST", f"/hooks/{key}", body, content_type=content_type, headers=given
        )


@pytest.fixture
def hooks(world: World, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """The trigger `pager` of the agent `triage`, whose runs are olga's, and whose secret is being replaced."""
    made = Hooks(world=world, secret=new_secret(), older=new_secret(24))
    monkeypatch.setenv(SECRET_ENV, made.secret)
    monkeypatch.setenv(OLDER_ENV, made.older)
    make_user("olga", "agents.operate")
    made.save(
        kind="webhook",
        agent="triage",
        started_by="olga",
        secret_envs=[SECRET_ENV, OLDER_ENV],
        mapping={"task": TASK},
        sample=ALERT,
    )
    return made


def arrival_of(answer: Any) -> Arrival:
    """What an answer names."""
    assert answer.status_code == 202, answer.content
    return Arrival.objects.get(run_id=answer.json()["id"])
