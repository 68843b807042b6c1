"""Secrets that a row names and the environment holds (ruling 35)."""

from __future__ import annotations

import os
import re

from liyagent.core.errors import BadInput

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# Whoever may edit a row may also say where the secret is sent: the product's own must not be among them.
OUR_OWN = ("LIYAGENT_", "TICKETIQ_", "DJANGO_", "DATABASE_", "PG")


def is_secret_name(name: str) -> bool:
    """Whether a row may name this variable."""
    return NAME.fullmatch(name) is not None and not name.startswith(OUR_OWN)


def read_secret(name: str) -> str:
    """Return the secret in the environment variable `name`.

    Raises `BadInput` naming the variable, never its value, where the name is none, is one of the
    product's own, or the variable is not set or holds anything but printable ASCII.
    """
    if not is_secret_name(name):
        raise BadInput(
            f"{name[:100]!r} cannot hold a key; it wants the name of an environment variable of A-Z, 0-9 "
            f"and _ that does not begin with {', '.join(OUR_OWN)}"
        )
    value = os.environ.get(name, "").strip()
    if not value:
        raise BadInput(f"the environment variable {name} is not set; it wants the key")
    if not (value.isascii() and value.isprintable()):
        raise BadInput(f"the environment variable {name} holds characters that no key has")
    return value
