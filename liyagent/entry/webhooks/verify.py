"""Verify a call over its raw body: by whom, when, and that nothing of it was changed."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from liyagent.core.webhook_signing import ID, SIGNATURE, TIMESTAMP, is_signed
from liyagent.entry.webhooks.models import NOW, Scheme, Trigger
from liyagent.entry.webhooks.secrets import secrets_of

# A call of an earlier or a later time than this is none, whoever signed it.
WINDOW_SECONDS = 300
LONGEST_SIGNATURE = 4_000
SECONDS = re.compile(r"[0-9]{1,12}")
VISIBLE = re.compile(r"[!-~]{1,255}")
NOT_SIGNED = "it is not signed by a secret of this trigger, or there is no such trigger"


class BadSignature(Exception):
    """Why a call is not let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedCall:
    """A call that its sender signed. `webhook_id` is empty where its scheme has none."""

    trigger: Trigger
    webhook_id: str
    body: bytes


def verify_call(key: str, *, headers: Mapping[str, str], body: bytes) -> SignedCall:
    """Return a call that is signed with a secret of the trigger. Raises `BadSignature` with why not, `SecretsAway`.

    To who cannot sign, a trigger that is there and one that is not look alike.
    """
    trigger = Trigger.objects.annotate(now=NOW).filter(key=key.replace("\x00", "")).first()
    if trigger is None:
        raise BadSignature(NOT_SIGNED)
    if trigger.scheme == Scheme.HMAC:
        _check_hmac(trigger, headers, body)
        return SignedCall(trigger=trigger, webhook_id="", body=body)
    return SignedCall(trigger=trigger, webhook_id=_checked_id(trigger, headers, body), body=body)


def _checked_id(trigger: Trigger, headers: Mapping[str, str], body: bytes) -> str:
    webhook_id, timestamp = headers.get(ID, ""), headers.get(TIMESTAMP, "")
    signatures = headers.get(SIGNATURE, "")[:LONGEST_SIGNATURE]
    is_shaped = VISIBLE.fullmatch(webhook_id) and SECONDS.fullmatch(timestamp) and signatures
    if not is_shaped or not is_signed(
        webhook_id=webhook_id,
        timestamp=timestamp,
        signatures=signatures,
        body=body,
        secrets=secrets_of(trigger),
    ):
        raise BadSignature(NOT_SIGNED)
    now: datetime = vars(trigger)["now"]
    if abs(now.timestamp() - int(timestamp)) > WINDOW_SECONDS:
        raise BadSignature(f"{TIMESTAMP} is more than {WINDOW_SECONDS} s away from now")
    return webhook_id


def _check_hmac(trigger: Trigger, headers: Mapping[str, str], body: bytes) -> None:
    """The hexadecimal HMAC-SHA-256 of the body, behind the prefix."""
    given, prefix = headers.get(trigger.signature_header, ""), trigger.signature_prefix
    digest = given.removeprefix(prefix).lower().encode()
    made = [hmac.new(it, body, hashlib.sha256).hexdigest() for it in secrets_of(trigger)]
    is_made_by_one = any(hmac.compare_digest(digest, it.encode()) for it in made)
    if not given.startswith(prefix) or not is_made_by_one:
        raise BadSignature(NOT_SIGNED)
