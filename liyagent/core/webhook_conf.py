"""The settings of the webhook that is told of approvals: an address and its secrets, both or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.errors import BadSetting
from liyagent.core.webhook_secrets import MOST_SECRETS, PREFIX, WANTED, secret_in

URL, SECRETS = "LIYAGENT_APPROVAL_WEBHOOK_URL", "LIYAGENT_APPROVAL_WEBHOOK_SECRETS"
LONGEST_URL = 2_000


def read_webhook(
    env: Mapping[str, str], *, allowed_private_hosts: Collection[str]
) -> tuple[str, tuple[bytes, ...]]:
    """Return the address and its secrets, newest first; both empty where none is set.

    Raises `BadSetting`, which tells neither: an address of a chat system is as good as a password.
    """
    url, text = env.get(URL, "").strip(), env.get(SECRETS, "").strip()
    if not url and not text:
        return "", ()
    if not text:
        raise BadSetting(f"{SECRETS} is not set; it wants {_wanted()}, as {URL} is set")
    if not url:
        raise BadSetting(f"{URL} is not set; it wants an address, as {SECRETS} is set")
    if len(url) > LONGEST_URL or not is_web_address(url, allowed=allowed_private_hosts):
        raise BadSetting(f"{URL} cannot be called; it wants {WEB_ADDRESS}")
    return url, _secrets(text)


def _secrets(text: str) -> tuple[bytes, ...]:
    secrets = tuple(_secret(part.strip()) for part in text.split(","))
    if len(secrets) > MOST_SECRETS or len(set(secrets)) != len(secrets):
        raise BadSetting(f"{SECRETS} wants at most {MOST_SECRETS} secrets, each of its own")
    return secrets


def _secret(part: str) -> bytes:
    secret = secret_in(part)
    if secret is None:
        raise BadSetting(f"{SECRETS} cannot be used; it wants {_wanted()}")
    return secret


def _wanted() -> str:
    return f"{WANTED}[,{PREFIX}<an older one>]"
