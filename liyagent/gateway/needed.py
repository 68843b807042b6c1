"""Who still needs a server: asked before it is removed. Rooms above register here; the gateway does not know them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """`blocks`: why the server may not be removed now; `loses`: what is given up when it is. Empty where nothing."""

    blocks: str = ""
    loses: str = ""


NEEDS: list[Callable[[str], Need]] = []


def needs_of(server: str) -> list[Need]:
    """Return what every room says of the server with this key."""
    return [need_of(server) for need_of in NEEDS]
