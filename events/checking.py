"""What `manage.py events verify` looks at: a list of checks, each over the chains that are asked for.

`CHECKS` begins with the chains themselves; what signs and exports them adds its own in `AppConfig.ready()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

# All chains lie between these. Correlation ids are UUIDv7: in the order in which their runs were started.
FIRST, LAST = UUID(int=0), UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The chains to look at: from `first` to `last`, both with; one alone where they are the same."""

    first: UUID = FIRST
    last: UUID = LAST

    @property
    def is_all(self) -> bool:
        """Whether all chains are asked for, so that what is held true of the whole record can be looked at too."""
        return (self.first, self.last) == (FIRST, LAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How far a check is: told now and then, the last time at its end."""

    check: str
    chains: int = 0
    events: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong. `where` names it, such as `chain 0199…, event 3` or `root 12`; `reason` is one word.

    `is_break`: the record was changed. Else something is not there that should be: told, and no break.
    """

    where: str
    reason: str
    sentence: str
    is_break: bool = True


# Streams, in bounded memory: however many chains there are. What it raises ends the verification.
Check = Callable[[Asked], Iterator[Finding | Looked]]
CHECKS: list[Check] = []
