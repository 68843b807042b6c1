"""Which keys that signed roots are ours: those that are known, and those that signed together with one that is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Whoever can add roots can make keys without end.
MOST_UNKNOWN = 1_000


@dataclass(slots=True)
class Keys:
    """Hears of roots and who signed them, in order. A root that is signed by two shows that whoever had the one had the other."""

    known: frozenset[str]
    # Of keys that are not known: the first root that each signed, and those with which it signed.
    _first: dict[str, int] = field(default_factory=dict)
    _with: dict[str, set[str]] = field(default_factory=dict)

    def see(self, publics: Iterable[str], *, number: int) -> None:
        """Take note of a root whose signatures hold."""
        signed = set(publics)
        for public in signed - self.known:
            if public in self._first or len(self._first) < MOST_UNKNOWN:
                self._first.setdefault(public, number)
                self._with.setdefault(public, set()).update(signed - {public})

    def unknown_since(self) -> Iterator[int]:
        """Yield the first root of each key that is none of ours, in order."""
        ours = set(self.known)
        left = dict(self._with)
        while found := {public for public, others in left.items() if not ours.isdisjoint(others)}:
            ours |= found
            left = {public: others for public, others in left.items() if public not in found}
        yield from sorted({self._first[public] for public in left})
