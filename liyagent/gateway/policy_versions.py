"""Versions of the Cedar policy sets: added as new rows, one of all of them in force."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from liyagent.agents.models import ConfigVersion
from liyagent.audit.record import record
from liyagent.core.errors import BadInput, NotFound
from liyagent.core.plain import clean_text
from liyagent.core.transactions import require_transaction
from liyagent.gateway.models import Policy
from liyagent.gateway.policies import check_policies, parse_policies

LONGEST_NAME = 200
LONGEST_NOTE = 500
HIGHEST_VERSION = 2**31 - 1


def load_policy(text: str, *, name: str, actor: str, note: str = "") -> Policy:
    """Add `text` as the next version of `name` and put it into force; the same text again changes nothing.

    Raises `BadInput` with the line of a policy that is wrong.
    """
    check_policies(text)
    with transaction.atomic(durable=True):
        take_turn()
        active = Policy.objects.filter(is_active=True).first()
        if active is not None and (active.name, active.text) == (name, text):
            return active
        policy = add_policy(text, name=name, actor=actor, note=note)
        put_into_force(policy, actor=actor)
    return policy


def add_version(text: str, *, name: str, actor: str, note: str = "") -> Policy:
    """Add `text` as the next version of `name` without putting it into force. Raises `BadInput` with the line."""
    check_policies(text)
    with transaction.atomic(durable=True):
        take_turn()
        return add_policy(text, name=name, actor=actor, note=note)


def activate_policy(policy: Policy, *, actor: str) -> None:
    """Put a stored version into force in place of the one that is. Raises `BadInput` for text that is wrong."""
    check_policies(policy.text)
    with transaction.atomic(durable=True):
        take_turn()
        put_into_force(policy, actor=actor)


def find_version(name: str, version: int) -> Policy:
    """Return a stored version. Raises `NotFound` that names those there are."""
    is_number = 0 < version <= HIGHEST_VERSION
    found = Policy.objects.filter(name=name, version=version).first() if is_number else None
    if found is None:
        last = _last_version(name)
        told = f"it has versions 1 to {last}" if last else "there is no policy set of that name"
        raise NotFound(f"there is no version {version} of policy set {name!r}: {told}")
    return found


def newest_version(name: str) -> Policy:
    """Return the newest version of a set, in force or not. Raises `NotFound`."""
    found = Policy.objects.filter(name=name).order_by("-version").first()
    if found is None:
        raise NotFound(f"there is no policy set {name!r}")
    return found


def add_policy(text: str, *, name: str, actor: str, note: str = "") -> Policy:
    """Store `text` as the next version of `name`, not in force, in the caller's transaction. Raises `BadInput`."""
    require_transaction("adding a policy")
    _check_words(name, note)
    policy = Policy.objects.create(
        name=name, version=_last_version(name) + 1, text=text, created_by=actor[:150], note=note
    )
    record("policy.added", actor=actor, detail=_detail(policy) | {"note": note})
    return policy


def put_into_force(policy: Policy, *, actor: str) -> None:
    """Make a version the one in force, in the caller's transaction."""
    require_transaction("putting a policy into force")
    before = Policy.objects.filter(is_active=True).exclude(pk=policy.pk).first()
    Policy.objects.filter(is_active=True).exclude(pk=policy.pk).update(is_active=False)
    Policy.objects.filter(pk=policy.pk).update(is_active=True)
    policy.is_active = True
    detail = _detail(policy) | {"before": str(before) if before is not None else ""}
    record("policy.activated", actor=actor, detail=detail)


def take_turn() -> None:
    """One change of policies at a time: two at once would want the same version number."""
    require_transaction("changing policies")
    ConfigVersion.objects.select_for_update().get(pk=1)


def _last_version(name: str) -> int:
    last = Policy.objects.filter(name=name).aggregate(last=Max("version"))["last"]
    return last or 0


def _check_words(name: str, note: str) -> None:
    is_plain = name == clean_text(name).strip() and name.isprintable() and "/" not in name
    if not (is_plain and 1 <= len(name) <= LONGEST_NAME):
        raise BadInput(
            f"the name of a policy set is {name[:80]!r}; it wants 1 to {LONGEST_NAME} characters on one line, no /"
        )
    if len(note) > LONGEST_NOTE or note != clean_text(note):
        raise BadInput(f"the note wants at most {LONGEST_NOTE} characters that can be stored")


def _detail(policy: Policy) -> dict[str, str | int]:
    fingerprint = parse_policies(policy.text).fingerprint
    return {"policy": policy.name, "version": policy.version, "fingerprint": fingerprint}
