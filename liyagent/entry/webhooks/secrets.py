"""The secrets of a trigger, read from the environment by their names at each call (ruling 35)."""

from __future__ import annotations

import logging

from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput
from liyagent.core.webhook_secrets import WANTED, secret_in
from liyagent.entry.webhooks.errors import SecretsAway
from liyagent.entry.webhooks.models import Scheme, Trigger

logger = logging.getLogger(__name__)

LEAST_CHARACTERS = 16


def secrets_of(trigger: Trigger) -> list[bytes]:
    """Return the secrets that are set here, newest first. Raises `SecretsAway` where none is."""
    found = []
    for name in trigger.secret_envs:
        try:
            found.append(_secret(name, trigger.scheme))
        except BadInput as error:
            logger.warning("trigger %s: %s", trigger.key, error)
    if not found:
        raise SecretsAway(f"no secret of trigger {trigger.key} is set here")
    return found


def _secret(name: str, scheme: str) -> bytes:
    text = read_secret(name)
    if scheme == Scheme.HMAC:
        if len(text) < LEAST_CHARACTERS:
            raise BadInput(f"{name} wants {LEAST_CHARACTERS} characters or more")
        return text.encode()
    secret = secret_in(text)
    if secret is None:
        raise BadInput(f"{name} wants {WANTED}")
    return secret
