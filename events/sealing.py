"""What checks the seal on a head: put here by `AppConfig.ready()` of the room, so that whoever judges a chain asks it too."""

from __future__ import annotations

from dataclasses import dataclass

from events.verdict import SealCheck


@dataclass(slots=True)
class Sealing:
    """`check` is None as long as nothing seals heads."""

    check: SealCheck | None = None


SEAL_CHECK = Sealing()
