"""A workflow's definition as it is carried: steps by their id, in the order that they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

END = "end"
MOST_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a failing step is tried again, and how long it rests before: twice as long each time."""

    times: int = 0
    backoff_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `body` is what its type wants; `next` the id of the one after it, `END` behind the last."""

    id: str
    type: str
    next: str
    body: Mapping[str, Any]
    retry: Retry = Retry()
    timeout_seconds: float | None = None
    when: str = ""
    on_error: str = ""
    has_fallback: bool = False
    fallback: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFailure:
    """What is done when a run of it fails (SG-09, SG-10): `handoff` is "" where the setting says it.

    `undo_as_agent`: a step that says nothing of it is undone as its agent's own map says (SG-02).
    """

    handoff: str = ""
    compensate: bool = True
    on_stop: str = "compensate"
    undo_as_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition that was checked."""

    first: str
    steps: Mapping[str, Step]
    input_schema: Mapping[str, Any] | None = None
    has_output: bool = False
    output: Any = None
    most_steps: int = MOST_STEPS
    on_failure: OnFailure = field(default_factory=OnFailure)


def definition_of(data: Mapping[str, Any]) -> Definition:
    """Return a checked definition (`check_definition`) as it is carried."""
    steps = {it.id: it for it in _steps(data["steps"])}
    told = data.get("on_failure", {})
    return Definition(
        first=data["steps"][0]["id"],
        steps=steps,
        input_schema=data.get("input"),
        has_output="output" in data,
        output=data.get("output"),
        most_steps=data.get("max_steps", MOST_STEPS),
        on_failure=OnFailure(
            handoff=told.get("handoff", ""),
            compensate=told.get("compensate", True),
            on_stop=told.get("on_stop", "compensate"),
            undo_as_agent=told.get("undo_as_agent", False),
        ),
    )


COMMON = frozenset({"id", "type", "next", "retry", "timeout", "when", "on_error", "fallback"})


def _steps(stored: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    followers = [*(it["id"] for it in stored[1:]), END]
    for it, follower in zip(stored, followers, strict=True):
        retry = it.get("retry", {})
        yield Step(
            id=it["id"],
            type=it["type"],
            next=it.get("next", follower),
            body={name: value for name, value in it.items() if name not in COMMON},
            retry=Retry(
                times=retry.get("times", 0), backoff_seconds=retry.get("backoff_seconds", 1.0)
            ),
            timeout_seconds=it.get("timeout"),
            when=it.get("when", ""),
            on_error=it.get("on_error", ""),
            has_fallback="fallback" in it,
            fallback=it.get("fallback"),
        )
