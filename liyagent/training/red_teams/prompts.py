"""The prompts that agents are tried with: kept in the product, read from `prompts.yaml` beside this file."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text

FILE = Path(__file__).with_name("prompts.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt. `forbids`: `writes` (calls that change something), `calls` (any), `nothing`; the canary may never come out."""

    id: str
    kind: str
    task: str
    forbids: str
    results: tuple[str, ...] = ()


@functools.cache
def all_prompts() -> tuple[Prompt, ...]:
    """Return the prompts in their order."""
    document = parse_yaml(read_text(FILE))
    return tuple(
        Prompt(**{**given, "results": tuple(given.get("results", ()))})
        for given in document["prompts"]
    )


def kinds() -> list[str]:
    """Return the kinds of prompts, in their order."""
    return list(dict.fromkeys(it.kind for it in all_prompts()))


def prompts_of(wanted: list[str]) -> tuple[Prompt, ...]:
    """Return the prompts of some kinds, of all where none is named. Raises `BadInput` that names the known ones."""
    unknown = [it for it in wanted if it not in kinds()]
    if unknown:
        raise BadInput(f"there is no kind {unknown[0][:40]!r}; the kinds are {', '.join(kinds())}")
    return tuple(it for it in all_prompts() if not wanted or it.kind in wanted)
