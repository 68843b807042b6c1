"""Keep triggers: which agent is asked what, when, and as whom its runs are started."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.schedule import check_schedule, check_zone, next_slot
from liyagent.entry.cron.errors import TriggerInvalid, TriggerTaken, TriggerUnknown
from liyagent.entry.cron.fire import begin_all, settle_due
from liyagent.entry.cron.models import NOW, CronTrigger, Overlap
from liyagent.entry.whom import Saver, named_by

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
LONGEST_TASK = 20_000
MOST_NAMED = 20
REQUIRED = ("agent", "task", "schedule")
DEFAULTS: Mapping[str, Any] = {
    "timezone": "UTC",
    "is_enabled": True,
    "catch_up": True,
    "overlap": "skip",
}
TOLD = ("agent_key", "schedule", "timezone", "is_enabled", "catch_up", "overlap", "started_by")


def find_trigger(key: str) -> CronTrigger:
    """Return a trigger. Raises `TriggerUnknown` that names those there are."""
    trigger = CronTrigger.objects.filter(key=key.replace("\x00", "")).first()
    if trigger is None:
        keys = list(CronTrigger.objects.values_list("key", flat=True)[:MOST_NAMED])
        known = ", ".join(keys) or "none yet"
        raise TriggerUnknown(f"there is no cron trigger {key[:80]!r}; there are: {known}")
    return trigger


def save_trigger(key: str, given: Mapping[str, Any], *, saver: Saver) -> CronTrigger:
    """Keep a trigger; what is left out stays, or has its default in a new one. `is_enabled` false pauses it.

    What is due by then is fired first, as it was declared. Another schedule or zone, and a trigger that was paused, begin
    with the next slot from now; slots of a pause are nobody's. Its runs are `started_by` who is named, else by who saves it
    last. Raises `TriggerInvalid` that names every field that is wrong, `MayNotName`, `TriggerTaken`.
    """
    try:
        with transaction.atomic(durable=True):
            trigger, kept = _saved(key, given, saver)
    except IntegrityError:
        raise TriggerTaken from None
    begin_all(kept)
    return trigger


def remove_trigger(key: str, *, actor: str) -> None:
    """Forget a trigger; runs of it go on. Raises `TriggerUnknown`."""
    with transaction.atomic(durable=True):
        find_trigger(key).delete()
        record("cron.trigger_removed", actor=actor, detail={"trigger": key})


def _saved(key: str, given: Mapping[str, Any], saver: Saver) -> tuple[CronTrigger, list[UUID]]:
    found = CronTrigger.objects.select_for_update().filter(key=key).first()
    values = _checked(key, {**(DEFAULTS if found is None else {}), **given}, is_new=found is None)
    now = _now()
    kept = settle_due(found, now) if found else []
    trigger = found or CronTrigger(key=key)
    before = (trigger.schedule, trigger.timezone, trigger.next_slot is None)
    standing = trigger.started_by
    values["started_by"] = named_by(saver, values.get("started_by", ""), standing=standing)
    values |= {"saved_by": saver.actor[:150], "updated_at": NOW, "problem": ""}
    for name, value in values.items():
        setattr(trigger, name, value)
    trigger.next_slot = _next(trigger, before, now)
    trigger.save(update_fields=[*values, "next_slot"] if found else None)
    trigger.refresh_from_db()
    told = {name: getattr(trigger, name) for name in TOLD}
    record("cron.trigger_saved", actor=saver.actor, detail={"trigger": key, "set": told})
    return trigger, kept


def _next(trigger: CronTrigger, before: tuple[str, str, bool], now: datetime) -> datetime | None:
    if not trigger.is_enabled:
        return None
    following = next_slot(trigger.schedule, trigger.timezone, now)
    if before != (trigger.schedule, trigger.timezone, False) or trigger.next_slot is None:
        return following
    # Earlier where it stood still; never later, as after a clock that was ahead and is put right.
    return min(trigger.next_slot, following)


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_now()")
        ((now,),) = cursor.fetchall()
    return now  # type: ignore[no-any-return]


def _checked(key: str, given: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
    problems: dict[str, str] = {}
    values: dict[str, Any] = {}
    if not KEY.fullmatch(key):
        problems["key"] = "wants 1 to 80 letters, digits, - and _"
    for name in REQUIRED if is_new else ():
        if name not in given:
            problems[name] = "is missing"
    for name, value in given.items():
        if name not in CHECKS:
            problems[name[:80]] = f"is not known; the known ones are {', '.join(CHECKS)}"
            continue
        column, check = CHECKS[name]
        try:
            values[column] = check(value)
        except BadInput as error:
            problems[name] = str(error)
    if problems:
        raise TriggerInvalid(problems)
    return values


def _agent(value: Any) -> str:
    if isinstance(value, str) and KEY.fullmatch(value) and Agent.objects.filter(key=value).exists():
        return value
    raise BadInput("wants the key of an agent there is: `manage.py agents list` shows them")


def _task(value: Any) -> str:
    if isinstance(value, str) and value.strip() and len(value) <= LONGEST_TASK and "\x00" not in value:  # fmt: skip
        return value
    raise BadInput(f"wants what the agent is asked, 1 to {LONGEST_TASK} characters")


def _schedule(value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput("wants a text of five fields, such as '30 2 * * *'")
    return check_schedule(value)


def _zone(value: Any) -> str:
    return check_zone(value if isinstance(value, str) else "")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput("wants true or false")
    return value


def _overlap(value: Any) -> str:
    if value not in Overlap.values:
        raise BadInput(f"wants {' or '.join(Overlap.values)}: a slot whose trigger still runs is recorded, and not started")  # fmt: skip
    return str(value)


def _name(value: Any) -> str:
    if isinstance(value, str) and len(value) <= 150 and "\x00" not in value:
        return value
    raise BadInput("wants the name of a user")


# By the name outside: the column, and its check, which returns what is kept.
CHECKS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "agent": ("agent_key", _agent),
    "task": ("task", _task),
    "schedule": ("schedule", _schedule),
    "timezone": ("timezone", _zone),
    "is_enabled": ("is_enabled", _flag),
    "catch_up": ("catch_up", _flag),
    "overlap": ("overlap", _overlap),
    "started_by": ("started_by", _name),
}
