"""How a trial is begun at a process, each way by its own protocol, and begun again with the same id (ruling 29)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2

from liyagent.core.canonical import digest
from tests.fakes.a2a_client import A2aClient, Refused
from tests.fakes.mcp_client import McpUser, asks
from tests.fakes.signer import Signer
from tests.kills.plan import Trial, Way
from tests.kills.scripts import SAGA, agent_of
from tests.kills.stage import ASKER, BY_HAND, HOOK, SURVIVOR, KillStage
from tests.trials.stage import StageFailed

TASK = "Look at the disks."
KEY, RUN = "io.liyagent/key", "io.liyagent/run"
# So long every other call of MCP waits for its answer; the others are told of their run at once.
WAIT_SECONDS = 15
# What a sender meets whose receiver dies: it has no answer, and sends again.
NO_ANSWER = (OSError, HTTPException, httpx2.TransportError)
# A slot so many seconds ahead of the database's clock.
IN_TIME = """
UPDATE cron_crontrigger SET next_slot = it.slot FROM (
    SELECT liyagent_now() + make_interval(secs => %s) AS slot OFFSET 0) AS it WHERE key = %s
    RETURNING it.slot
"""


@dataclass(slots=True, kw_only=True)
class Begun:
    """A trial that was begun. `name`: what its record is known by. `told`: the ids of runs that a sender was told."""

    trial: Trial
    name: str
    conversation: str = ""
    trigger: str = ""
    told: set[str] = field(default_factory=set)
    was_tried: bool = False
    had_answer: bool = False
    refusals: list[str] = field(default_factory=list)


def prepare(at: KillStage, trial: Trial, *, slots: list[str]) -> Begun:
    """Make what has to be there before a trial begins; `slots` are the triggers that are still free in this round."""
    begun = Begun(trial=trial, name=trial.name)
    if trial.way is Way.COPILOT:
        made = at.ask(
            SURVIVOR, "POST", "/api/copilot/conversations", {"agent": agent_of(trial.way)}
        )
        begun.conversation = made["id"]
    if trial.way is Way.SLOT:
        begun.trigger = slots.pop()
    if trial.way is Way.CRON:
        begun.name = f"manual:{trial.name}"
    if trial.way is Way.MCP:
        begun.name = digest([ASKER, trial.name])
    return begun


def begin(at: KillStage, begun: Begun, process: str) -> None:
    """Begin a trial at a process, or again; what it was told, or that it had no answer, is kept on `begun`."""
    try:
        run_id = _WAYS[begun.trial.way](at, begun, process)
    except NO_ANSWER:
        return
    except (StageFailed, Refused, AssertionError) as refused:
        begun.refusals.append(str(refused))
        return
    begun.had_answer = True
    if run_id:
        begun.told.add(str(UUID(run_id)))


def _cron(at: KillStage, begun: Begun, process: str) -> str:
    key = begun.trial.name
    path = f"/api/cron-triggers/{BY_HAND}/run"
    return str(at.ask(process, "POST", path, idempotency_key=key)["id"])


def _slot(at: KillStage, begun: Begun, _process: str) -> str:
    """It comes by itself: to whichever process finds it."""
    if not begun.had_answer:
        (row,) = at.watch.rows(IN_TIME, [0.05, begun.trigger])
        begun.name = row["slot"].astimezone(UTC).isoformat().replace("+00:00", "Z")
    return ""


def _teams(at: KillStage, begun: Begun, process: str) -> str:
    conversation = {"id": f"a:{begun.name}", "conversationType": "personal", "tenantId": at.channel.tenant}  # fmt: skip
    message = at.channel.message(TASK, id=begun.name, conversation=conversation)
    answer = at.channel.send(at.stage.url(process), message)
    _check(answer.status_code, 200, answer.content)
    return str(answer.json()["id"])


def _webhook(at: KillStage, begun: Begun, process: str) -> str:
    url = f"{at.stage.url(process)}/hooks/{HOOK}"
    signer = Signer(url=url, secrets=[at.hook_secret], ahead=at.ahead)
    replied = signer.send({"text": TASK}, message=begun.name)
    _check(replied.status, 202, replied.body)
    return str(replied.json()["id"])


def _copilot(at: KillStage, begun: Begun, process: str) -> str:
    path = f"/api/copilot/conversations/{begun.conversation}/turns"
    told = at.ask(process, "POST", path, {"task": TASK}, idempotency_key=begun.name)
    return str(told["run_id"])


def _a2a(at: KillStage, begun: Begun, process: str) -> str:
    client = a2a_client(at, process)
    message = client.message(TASK, messageId=begun.name)
    return str(client.send(message, waits=False)["id"])


def _saga(at: KillStage, begun: Begun, process: str) -> str:
    path = f"/api/workflows/{SAGA}/runs"
    return str(at.ask(process, "POST", path, {"input": {}}, idempotency_key=begun.name)["id"])


def _mcp(at: KillStage, begun: Begun, process: str) -> str:
    wait_seconds = WAIT_SECONDS if begun.trial.number % 2 else 0
    return str(call_mcp(at, begun, process, wait_seconds=wait_seconds)["_meta"][RUN])


def call_mcp(at: KillStage, begun: Begun, process: str, *, wait_seconds: int) -> dict[str, Any]:
    """Return what a process answers to a trial's call of an agent's tool. Raises `StageFailed` where it refuses it."""
    call = asks(
        agent_of(Way.MCP), meta={KEY: begun.trial.name}, task=TASK, wait_seconds=wait_seconds
    )
    user = McpUser(port=_port(at, process), token=at.stage.token)
    answer = user.post(call)
    result = answer.data.get("result") if isinstance(answer.data, dict) else None
    if not isinstance(result, dict) or result.get("isError"):
        raise StageFailed(f"{answer.status} {str(answer.data)[:300]}")
    return result


def a2a_client(at: KillStage, process: str) -> A2aClient:
    """Return who asks a process by A2A."""
    return A2aClient(port=_port(at, process), token=at.stage.token, agent=agent_of(Way.A2A))


def _port(at: KillStage, process: str) -> int:
    port = urlsplit(at.stage.url(process)).port
    assert port is not None
    return port


def _check(status: int, wanted: int, body: bytes) -> None:
    if status != wanted:
        raise StageFailed(f"{status} {body.decode(errors='replace')[:300]}")


_WAYS: dict[Way, Callable[[KillStage, Begun, str], str]] = {
    Way.CRON: _cron,
    Way.SLOT: _slot,
    Way.TEAMS: _teams,
    Way.WEBHOOK: _webhook,
    Way.COPILOT: _copilot,
    Way.A2A: _a2a,
    Way.MCP: _mcp,
    Way.SAGA: _saga,
}
