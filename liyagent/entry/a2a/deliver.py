"""Tell callers of their tasks: each move that they want to know of, in order, at least once."""

from __future__ import annotations

import re

import httpx2

from liyagent.core.outbound import guarded_client
from liyagent.core.outbox import ANSWER_SECONDS, wanted_pause
from liyagent.core.plain import json_bytes
from liyagent.entry.a2a.caller import Caller
from liyagent.entry.a2a.models import PushConfig
from liyagent.entry.a2a.push import secrets_of
from liyagent.entry.a2a.tell import Shown, task_event, task_told
from liyagent.entry.a2a.wire import Version
from liyagent.entry.models import Delivery
from liyagent.entry.ways import Mark, Sent
from missions.carry import MISSION_HEADER
from missions.context import current_stamp

TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - the name of a header
AGENT = "Liyagent-A2A"
NUMBER = re.compile(r"[0-9]{1,18}")
GONE, OF_THE_SERVER = 410, 500
SHOWN = Shown(history_length=0)


def send_push(delivery: Delivery, is_in_doubt: bool, mark: Mark) -> Sent:
    """Send a task as it stood when it moved; any answer but 2xx within ten seconds is tried again, but 410.

    The mission of what is delivered goes along as a header. One in doubt is sent again: whoever is told twice knows the task, its state and the state's time.
    """
    config = _config(delivery)
    if config is None:
        return Sent(error="its push configuration was deleted", is_final=True)
    body, headers = _body(config, delivery), _headers(config)
    try:
        with (
            guarded_client(
                before_send=lambda _request: mark(), timeout_seconds=ANSWER_SECONDS
            ) as client,
            client.stream("POST", config.url, content=body, headers=headers) as response,
        ):
            return _sent(response)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        return Sent(error=f"{type(error).__name__}: {error}", may_have_arrived=True)


def receiver_of(delivery: Delivery) -> str:
    """Return the address that is told, and whose it is; empty once it is deleted."""
    config = _config(delivery)
    return "" if config is None else f"{config.url}, set by {config.owner}"


def _config(delivery: Delivery) -> PushConfig | None:
    """The configuration that it goes by; None where it was deleted, or the address names none."""
    address = delivery.address if isinstance(delivery.address, dict) else {}
    named = str(address.get("config", ""))
    if not NUMBER.fullmatch(named):
        return None
    return PushConfig.objects.select_related("task").filter(id=named).first()


def _body(config: PushConfig, delivery: Delivery) -> bytes:
    """1.0 is told in a StreamResponse, 0.3 the task itself."""
    owner = Caller(username=config.owner, sees_all=False, reads_words=False, decides=False)
    told = task_told(config.task, owner, SHOWN, at=delivery.address)
    return json_bytes(task_event(told, Version(config.version)))


def _headers(config: PushConfig) -> dict[str, str]:
    secrets = secrets_of(config)
    headers = {"content-type": "application/json", "user-agent": AGENT}
    if mission := current_stamp().mission:
        headers[MISSION_HEADER] = mission
    if config.version == Version.V10.value:
        headers["A2A-Version"] = config.version
    if secrets["token"]:
        headers[TOKEN_HEADER] = secrets["token"]
    if secrets["scheme"]:
        headers["Authorization"] = f"{secrets['scheme']} {secrets['credentials']}".strip()
    return headers


def _sent(response: httpx2.Response) -> Sent:
    """What a status means. Each address is a caller's own: one that is down says nothing of the next."""
    status = response.status_code
    if response.is_success:
        return Sent()
    return Sent(
        error=f"HTTP {status}",
        is_final=status == GONE,
        may_have_arrived=status >= OF_THE_SERVER,
        wanted_pause=wanted_pause(response.headers.get("retry-after", "")),
    )
