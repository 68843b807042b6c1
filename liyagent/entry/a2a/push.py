"""Where a caller wants to be told of a task: set, shown, listed, deleted; each caller's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from liyagent.access.keys import DatabaseNow
from liyagent.audit.record import record
from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.errors import BadParams, NoSuchTask
from liyagent.entry.a2a.find import find_task
from liyagent.entry.a2a.models import SETTLED, PushConfig, Task
from liyagent.entry.a2a.wire import (
    LONGEST_CONTEXT,
    Version,
    named,
    object_of,
    task_id_of,
    text_of,
)
from liyagent.entry.stamp import stamp_of_what_came
from runs.checkpoint import keyring
from runs.models import CHECKPOINT_FORMAT

MOST_CONFIGS = 10
LONGEST_URL = 2_000
LONGEST_SECRET = 4_000
# What a header may hold (RFC 9110, 5.5): the rest would be another header, or none.
HEADER_TEXT = re.compile(r"[\x20-\x7e]*")
SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,60}")
CREDENTIALS = "push credentials"
# What is wanted is owed: of a task that stands already, that is its state.
OWED = "SELECT a2a_owe_push(%s, %s)"
UNOWED = """
DELETE FROM entry_delivery WHERE run_id = %s AND kind = 'push' AND state = 'pending' AND address->>'config' = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A configuration as a caller gives it. `scheme` and `credentials` make its Authorization header."""

    config_id: str
    url: str
    token: str
    scheme: str
    credentials: str


def wanted_of(told: Mapping[str, Any], version: Version) -> Wanted | None:
    """Return what a configuration says, None where none is given. Raises `BadParams`."""
    if not told:
        return None
    url = text_of(told, "url", longest=LONGEST_URL)
    if not is_web_address(url):
        raise BadParams(f"url wants {WEB_ADDRESS}")
    authentication = object_of(told, "authentication")
    wanted = Wanted(
        config_id=text_of(told, "id", longest=LONGEST_CONTEXT),
        url=url,
        token=_secret(told, "token"),
        scheme=_scheme(authentication, version),
        credentials=_secret(authentication, "credentials"),
    )
    if wanted.credentials and not wanted.scheme:
        raise BadParams("credentials want the scheme that they are of")
    return wanted


def set_config(asked: Asked) -> PushConfig:
    """Keep a configuration for a task, in place of the caller's one of the same id. Raises `BadParams`, `NoSuchTask`.

    A task that has ended, or waits for a person, is told of at once: who asks that late misses nothing.
    """
    is_old = asked.version is Version.V03
    told = object_of(asked.params, "pushNotificationConfig") if is_old else asked.params
    wanted = wanted_of(told, asked.version)
    if wanted is None:
        raise BadParams("the push notification configuration is missing")
    return keep_later(find_task(asked, task_id_of(asked.params, "taskId")), asked, wanted)


def keep_later(task: Task, asked: Asked, wanted: Wanted) -> PushConfig:
    """Keep a configuration for a task that began before, and owe it the state where the task rests. Raises `BadParams`."""
    with transaction.atomic(durable=True):
        # No move of the task passes by: what moves it waits for this row, and then finds the configuration.
        task = Task.objects.select_for_update(no_key=True).get(run_id=task.run_id)
        config = keep_config(task, asked, wanted)
        if task.state in SETTLED:
            with connection.cursor() as cursor:
                cursor.execute(OWED, [task.run_id, config.id])
    return config


def keep_config(task: Task, asked: Asked, wanted: Wanted) -> PushConfig:
    """Keep a configuration within the caller's transaction. Raises `BadParams` where the task has too many."""
    config_id = wanted.config_id or str(task.run_id)
    others = PushConfig.objects.filter(task=task).exclude(
        owner=asked.caller.username, config_id=config_id
    )
    if others.count() >= MOST_CONFIGS:
        raise BadParams(f"a task is told to {MOST_CONFIGS} addresses at most")
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=task.run_id, format_number=CHECKPOINT_FORMAT)
    secrets = {
        "token": wanted.token,
        "scheme": wanted.scheme,
        "credentials": wanted.credentials,
    }
    config, _ = PushConfig.objects.update_or_create(
        task=task,
        owner=asked.caller.username,
        config_id=config_id,
        defaults={
            "url": wanted.url,
            "version": asked.version.value,
            "sealed": sealer.seal(secrets, kind=CREDENTIALS, number=0),
            "key_id": ring.newest,
            "created_at": DatabaseNow(),
        },
    )
    _record("a2a.push.set", asked, task, config_id=config_id, url=wanted.url)
    return config


def find_config(asked: Asked) -> PushConfig:
    """Return the caller's configuration that the params name; 0.3 may name none, then the first. Raises `NoSuchTask`."""
    task, config_id = _named(asked)
    rows = PushConfig.objects.filter(task=task, owner=asked.caller.username)
    found = rows.filter(config_id=config_id).first() if config_id else rows.first()
    if found is None:
        raise NoSuchTask("it has no such push notification configuration", task=task.run_id)
    return found


def list_configs(asked: Asked) -> list[PushConfig]:
    """Return the caller's configurations of a task, at most ten. Raises `NoSuchTask`."""
    name = "id" if asked.version is Version.V03 else "taskId"
    task = find_task(asked, task_id_of(asked.params, name))
    return list(PushConfig.objects.filter(task=task, owner=asked.caller.username)[:MOST_CONFIGS])


def delete_config(asked: Asked) -> None:
    """Delete the caller's configuration that the params name, and what is owed to it; deleted twice, it is deleted."""
    task, config_id = _named(asked)
    if not config_id:
        raise BadParams("the push notification configuration's id is missing")
    with transaction.atomic(durable=True):
        Task.objects.select_for_update(no_key=True).get(run_id=task.run_id)
        rows = PushConfig.objects.filter(
            task=task, owner=asked.caller.username, config_id=config_id
        )
        for config in rows:
            with connection.cursor() as cursor:
                cursor.execute(UNOWED, [task.run_id, str(config.id)])
            config.delete()
            _record("a2a.push.deleted", asked, task, config_id=config_id, url=config.url)


def config_told(config: PushConfig, version: Version) -> dict[str, Any]:
    """Return a configuration as its owner gave it, in the form of a version."""
    secrets = secrets_of(config)
    told: dict[str, Any] = {"id": config.config_id, "url": config.url}
    if secrets["token"]:
        told["token"] = secrets["token"]
    if secrets["scheme"]:
        scheme, credentials = secrets["scheme"], secrets["credentials"]
        named_so: dict[str, Any] = (
            {"scheme": scheme} if version is Version.V10 else {"schemes": [scheme]}
        )
        told["authentication"] = {**named_so, "credentials": credentials}
    if version is Version.V10:
        return {"taskId": str(config.task_id), **told}
    return {"taskId": str(config.task_id), "pushNotificationConfig": told}


def secrets_of(config: PushConfig) -> dict[str, str]:
    """Return token, scheme and credentials. Raises `KeyMissing`, `SealBroken`."""
    sealer = keyring().sealer(
        key_id=config.key_id, run_id=config.task_id, format_number=CHECKPOINT_FORMAT
    )
    secrets: dict[str, str] = sealer.open(bytes(config.sealed), kind=CREDENTIALS, number=0)
    return secrets


def _named(asked: Asked) -> tuple[Task, str]:
    is_old = asked.version is Version.V03
    task = find_task(asked, task_id_of(asked.params, "id" if is_old else "taskId"))
    name = "pushNotificationConfigId" if is_old else "id"
    return task, text_of(asked.params, name, longest=LONGEST_CONTEXT)


def _secret(told: Mapping[str, Any], name: str) -> str:
    value = named(told, name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_SECRET or not HEADER_TEXT.fullmatch(value):  # fmt: skip
        raise BadParams(f"{name} wants visible ASCII text of at most {LONGEST_SECRET} characters")
    return value


def _scheme(authentication: Mapping[str, Any], version: Version) -> str:
    if version is Version.V10:
        scheme = named(authentication, "scheme")
    else:
        schemes = named(authentication, "schemes")
        scheme = schemes[0] if isinstance(schemes, list) and schemes else schemes
    if scheme in (None, "", []):
        return ""
    if not isinstance(scheme, str) or not SCHEME.fullmatch(scheme):
        raise BadParams("authentication wants the name of an HTTP scheme, such as Bearer")
    return scheme


def _record(action: str, asked: Asked, task: Task, **detail: str) -> None:
    stamp = stamp_of_what_came(task.run_id)
    record(
        action,
        actor=asked.caller.username,
        mission=stamp.mission,
        correlation_id=stamp.correlation_id,
        run_id=task.run_id,
        request_id=asked.request_id,
        detail={"agent": task.agent_key, **detail},
    )
