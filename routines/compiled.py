"""What runs compile to: a workflow's definition, and for each value of it where it comes from. Holds no value that is secret or personal. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

# The names that lead to a value in the arguments of a routine's steps, the step's id first.
Place = tuple[str | int, ...]


class Kind(StrEnum):
    """Where a value comes from (RT-02)."""

    LITERAL = "literal"
    EXPRESSION = "expression"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a value comes from. `place` is a JSON pointer, `/s2/fields/team`; `shown` the same for a reader.

    `reads` is the path that the value is read by ("" of a literal), `distinct` how many different values the runs had there,
    `why` says in words what it was taken for.
    """

    place: str
    shown: str
    kind: Kind
    reads: str
    distinct: int
    why: str

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What the routine wants to be given as `input.<name>`: `types` are JSON's, `places` the pointers where it goes.

    `is_sensitive`: the runs had something there that looks secret or personal.
    """

    name: str
    types: tuple[str, ...]
    description: str
    places: tuple[str, ...]
    distinct: int
    is_sensitive: bool = False

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "types": list(self.types), "places": list(self.places)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A routine, or why there is none: `withheld` is "" where there is one, else definition, digest and the rest are empty.

    `digest` is the SHA-256 of the definition's canonical JSON; `tools` the pattern; `runs` the ids that it was compiled from, and
    `distinct_inputs` how many different tasks those were asked.
    """

    definition: dict[str, Any]
    digest: str
    parameters: tuple[Parameter, ...]
    origins: tuple[Origin, ...]
    withheld: str
    tools: tuple[str, ...]
    runs: tuple[str, ...]
    distinct_inputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AsParameter:
    """A place whose literal a person made a parameter, and the name that it was given, "" for one of ours."""

    place: str
    name: str = ""


def pointer(place: Place) -> str:
    """Return a place as JSON pointer (RFC 6901)."""
    return "".join(f"/{str(it).replace('~', '~0').replace('/', '~1')}" for it in place)
