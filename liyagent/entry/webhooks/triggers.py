"""Keep triggers: whose calls start which agent, and as whom; a mapping is tried before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import json_bytes
from liyagent.entry.webhooks.errors import (
    PayloadMisfit,
    TriggerInvalid,
    TriggerTaken,
    TriggerUnknown,
)
from liyagent.entry.webhooks.fields import checked
from liyagent.entry.webhooks.mapping import FILTER, Fitted, Fitting, try_mapping
from liyagent.entry.webhooks.models import (
    DEFAULT_A_MINUTE,
    NOW,
    SIGNATURE_HEADER,
    SIGNATURE_PREFIX,
    Kind,
    Scheme,
    Trigger,
)
from liyagent.entry.whom import Saver, named_by

MOST_NAMED = 20
MOST_SAMPLE_BYTES = 256 << 10
DEFAULTS: Mapping[str, Any] = {
    "scheme": Scheme.STANDARD.value,
    "signature_header": SIGNATURE_HEADER,
    "signature_prefix": SIGNATURE_PREFIX,
    "mission": "",
    "filter": "",
    "delivery_id": "",
    "most_a_minute": DEFAULT_A_MINUTE,
    "is_enabled": True,
}
NEW_WANTS = {"kind": "kind", "agent_key": "agent", "secret_envs": "secret_envs", "task": "mapping"}
FITTING = ("task", "mission", "filter", "delivery_id")
NO_ID = "is empty, and calls signed by an HMAC have no webhook-id: it wants a template such as '{{ event.id }}'"


def find_trigger(key: str) -> Trigger:
    """Return a trigger. Raises `TriggerUnknown` that names those there are."""
    trigger = Trigger.objects.filter(key=key.replace("\x00", "")).first()
    if trigger is None:
        keys = list(Trigger.objects.values_list("key", flat=True)[:MOST_NAMED])
        known = ", ".join(keys) or "none yet"
        raise TriggerUnknown(f"there is no trigger {key[:80]!r}; there are: {known}")
    return trigger


def save_trigger(key: str, given: Mapping[str, Any], *, saver: Saver) -> Trigger:
    """Keep a trigger; what is left out stays, or has its default in a new one.

    Where it looks otherwise at payloads than before, it is tried with `sample`, a payload that is not kept. Its runs are
    `started_by` who is named, else by who saves it last. Raises `TriggerInvalid` that names every field that is wrong,
    `PayloadMisfit` where the sample does not fit, `MayNotName`, `TriggerTaken`.
    """
    try:
        with transaction.atomic(durable=True):
            return _saved(key, given, saver)
    except IntegrityError:
        raise TriggerTaken from None


def try_trigger(key: str, given: Mapping[str, Any], payload: Any) -> Fitted:
    """Return what a payload would start by a trigger, or by what `given` would make of it; nothing is kept.

    There need be no trigger of this key yet. Raises `TriggerUnknown` where there is none and nothing of one is given,
    `TriggerInvalid`, `PayloadMisfit`.
    """
    values = checked(key, given)
    found = Trigger.objects.filter(key=key.replace("\x00", "")).first()
    if found is None and "task" not in values:
        find_trigger(key)
    standing = {**DEFAULTS, "task": ""} if found is None else vars(found)
    return try_mapping(Fitting.of({**standing, **values}), _sample(payload))


def switch_trigger(key: str, *, to_enabled: bool, actor: str) -> Trigger:
    """Let a trigger's calls in, or not; what it received before goes on. Raises `TriggerUnknown`."""
    with transaction.atomic(durable=True):
        trigger = find_trigger(key)
        others = Trigger.objects.filter(pk=trigger.pk).exclude(is_enabled=to_enabled)
        if others.update(is_enabled=to_enabled):
            done = "enabled" if to_enabled else "disabled"
            record(f"webhooks.trigger_{done}", actor=actor, detail={"trigger": key})
    return find_trigger(key)


def remove_trigger(key: str, *, actor: str) -> None:
    """Forget a trigger; what it received goes on. Raises `TriggerUnknown`."""
    with transaction.atomic(durable=True):
        trigger = find_trigger(key)
        trigger.delete()
        record("webhooks.trigger_removed", actor=actor, detail={"trigger": key, "kind": trigger.kind})  # fmt: skip


def _saved(key: str, given: Mapping[str, Any], saver: Saver) -> Trigger:
    found = Trigger.objects.select_for_update().filter(key=key.replace("\x00", "")).first()
    trigger = found or Trigger(key=key)
    said = {name: it for name, it in given.items() if name != "sample"}
    values = {**(DEFAULTS if found is None else {}), **checked(key, said)}
    _check_whole(trigger, values, is_new=found is None)
    _check_sample(trigger, values, given, is_new=found is None)
    standing = trigger.started_by
    values["started_by"] = named_by(saver, values.get("started_by", ""), standing=standing)
    values |= {"saved_by": saver.actor[:150], "updated_at": NOW}
    for name, value in values.items():
        setattr(trigger, name, value)
    trigger.save(update_fields=[*values] if found else None)
    trigger.refresh_from_db()
    told = {name: getattr(trigger, name) for name in values if name not in {"saved_by", "updated_at"}}  # fmt: skip
    record("webhooks.trigger_saved", actor=saver.actor, detail={"trigger": key, "set": told})
    return trigger


def _check_whole(trigger: Trigger, values: Mapping[str, Any], *, is_new: bool) -> None:
    problems = {}
    if is_new:
        missing = [outside for name, outside in NEW_WANTS.items() if name not in values]
        problems = dict.fromkeys(missing, "is missing")
        if "kind" in problems:
            problems["kind"] = f"is missing: {' or '.join(Kind.values)}"
    elif values.get("kind", trigger.kind) != trigger.kind:
        problems["kind"] = f"stays {trigger.kind}: what was received is known by it"
    scheme = values.get("scheme", trigger.scheme)
    if scheme == Scheme.HMAC and not values.get("delivery_id", trigger.delivery_id):
        problems["delivery_id"] = NO_ID
    if problems:
        raise TriggerInvalid(problems)


def _check_sample(
    trigger: Trigger, values: Mapping[str, Any], given: Mapping[str, Any], *, is_new: bool
) -> None:
    standing = {} if is_new else {name: getattr(trigger, name) for name in FITTING}
    now = {**standing, **{name: values[name] for name in FITTING if name in values}}
    if "sample" not in given:
        if now != standing:
            raise TriggerInvalid({"sample": "is missing: a payload to try the mapping with"})
        return
    if not try_mapping(Fitting.of(now), _sample(given["sample"])).is_wanted:
        raise PayloadMisfit(FILTER, "does not hold of the sample, which so tries nothing")


def _sample(payload: Any) -> Any:
    if not isinstance(payload, dict | list) or len(json_bytes(payload)) > MOST_SAMPLE_BYTES:
        raise BadInput(f"a payload wants an object or a list of at most {MOST_SAMPLE_BYTES} bytes")
    return payload
