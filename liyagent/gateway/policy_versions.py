"""Versions of the Cedar policy set: added as new rows, one of them in force."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from liyagent.audit.record import record
from liyagent.core.transactions import require_transaction
from liyagent.gateway.models import Policy
from liyagent.gateway.policies import check_policies, parse_policies


def load_policy(text: str, *, name: str, actor: str) -> Policy:
    """Add `text` as the next version of `name` and put it into force; the same text again changes nothing.

    Raises `BadInput` with the line of a policy that is wrong.
    """
    check_policies(text)
    with transaction.atomic(durable=True):
        active = Policy.objects.select_for_update().filter(is_active=True).first()
        if active is not None and (active.name, active.text) == (name, text):
            return active
        policy = add_policy(text, name=name, actor=actor)
        _put_into_force(policy, actor=actor)
    return policy


def activate_policy(policy: Policy, *, actor: str) -> None:
    """Put a stored version into force in place of the one that is. Raises `BadInput` for text that is wrong."""
    check_policies(policy.text)
    with transaction.atomic(durable=True):
        _put_into_force(policy, actor=actor)


def add_policy(text: str, *, name: str, actor: str) -> Policy:
    """Store `text` as the next version of `name`, not in force, in the caller's transaction."""
    require_transaction("adding a policy")
    last = Policy.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0
    policy = Policy.objects.create(name=name, version=last + 1, text=text)
    record("policy.added", actor=actor, detail=_detail(policy))
    return policy


def _put_into_force(policy: Policy, *, actor: str) -> None:
    Policy.objects.filter(is_active=True).exclude(pk=policy.pk).update(is_active=False)
    Policy.objects.filter(pk=policy.pk).update(is_active=True)
    policy.is_active = True
    record("policy.activated", actor=actor, detail=_detail(policy))


def _detail(policy: Policy) -> dict[str, str | int]:
    fingerprint = parse_policies(policy.text).fingerprint
    return {"policy": policy.name, "version": policy.version, "fingerprint": fingerprint}
