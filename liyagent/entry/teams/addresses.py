"""Which addresses tokens and secrets may be sent to."""

from __future__ import annotations

from urllib.parse import urlsplit

from liyagent.core.addresses import is_inside, is_web_address

LONGEST_ADDRESS = 300
SAFE_ADDRESS = (
    "https://host[:port][/path] on the internet, or http or https of a host in "
    "LIYAGENT_ALLOWED_PRIVATE_HOSTS"
)


def is_safe_address(text: str) -> bool:
    """Whether a text is `SAFE_ADDRESS`, as far as that shows without asking a name server."""
    if len(text) > LONGEST_ADDRESS or not is_web_address(text):
        return False
    parts = urlsplit(text)
    # A private host that may be called at all is one that an operator listed.
    return parts.scheme == "https" or is_inside(parts.hostname or "", allowed=())
