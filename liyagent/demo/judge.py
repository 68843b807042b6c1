"""The verdict over a kill, from the vendors' ledgers: what the product shows is a claim, and is checked.

Pure: no database, no HTTP. Rows come in, a `Verdict` comes out (ruling 37).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MARKER = re.compile(r"\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/[0-9]+)\]")


class Kind(StrEnum):
    """What a vendor lets us know of a write in doubt."""

    KEYED = "keyed"
    READABLE = "readable"
    BLIND = "blind"


KIND_OF_VENDOR = {"incident": Kind.KEYED, "jira": Kind.READABLE, "servicenow": Kind.BLIND}

NOT_DONE = frozenset({"failed", "refused", "held"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShown:
    """A run as the product shows it after everything ended, or after the time was up.

    `asked`: how many writes its model asks for, 0 where nobody says.
    """

    id: str
    agent: str
    status: str
    asked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteShown:
    """A write as the product shows it. `fate` is empty while it is unsettled; `is_caught`: it was so at the kill."""

    run_id: str
    vendor: str
    step_key: str
    fate: str
    is_caught: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of its vendor."""
        return KIND_OF_VENDOR[self.vendor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write as it arrived at a vendor. `effect` is the number of the ledger row it was answered with."""

    vendor: str
    step_key: str
    marker: str
    effect: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A write of which a person is told that its outcome is unknown; `marker` is empty where it never arrived."""

    write: WriteShown
    marker: str
    took_effect: bool

    @property
    def is_allowed(self) -> bool:
        """Whether nobody could have known: a blind one, or a readable one that is not there to be read."""
        kind = self.write.kind
        return kind is Kind.BLIND or (kind is Kind.READABLE and not self.took_effect)

    @property
    def told(self) -> str:
        """What the ledger knows of it."""
        if not self.marker:
            return "it never left the killed process"
        return f"{self.marker} {'took effect' if self.took_effect else 'had no effect'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What broke and what did not. Markers are `run/number`; step keys name calls that have no marker."""

    lost: tuple[RunShown, ...] = ()
    duplicates: tuple[str, ...] = ()
    missing: tuple[WriteShown, ...] = ()
    hidden: tuple[WriteShown, ...] = ()
    unsettled: tuple[WriteShown, ...] = ()
    left_out: tuple[RunShown, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    caught: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[str, ...]:
        """One line for each way in which the promise broke; empty if it held."""
        lines = [f"lost: run {run.id} of {run.agent} is {run.status}" for run in self.lost]
        lines += [f"duplicate: {marker} took effect more than once" for marker in self.duplicates]
        lines += [
            f"missing: {_named(write)} is shown done and is not on the ledger"
            for write in self.missing
        ]
        lines += [
            f"hidden: {_named(write)} is shown {write.fate} and took effect"
            for write in self.hidden
        ]
        lines += [f"unsettled: {_named(write)} was never settled" for write in self.unsettled]
        lines += [
            f"left out: run {run.id} of {run.agent} shows fewer than {run.asked} writes"
            for run in self.left_out
        ]
        lines += [
            f"unknown: {_named(it.write)} is {it.write.kind} and should be known: {it.told}"
            for it in self.unknown
            if not it.is_allowed
        ]
        if not any(self.caught.values()):
            lines.append("nothing was caught in the middle of a write, so nothing is proven")
        return tuple(lines)


def read_requests(ledgers: Mapping[str, Mapping[str, Any]]) -> list[Request]:
    """Return the marked writes of all ledgers, by vendor as `GET /ledger/<vendor>` answers them."""
    return [
        Request(
            vendor=vendor, step_key=row["step_key"], marker=found.group(1), effect=row["effect"]
        )
        for vendor, ledger in ledgers.items()
        for row in ledger["requests"]
        if (found := MARKER.search(" ".join(map(str, row["args"].values()))))
    ]


def judge(
    *, runs: Iterable[RunShown], writes: Iterable[WriteShown], requests: Iterable[Request]
) -> Verdict:
    """Compare what the product shows with what the vendors remember."""
    begun, shown, arrived = list(runs), list(writes), list(requests)
    made = Counter(it.run_id for it in shown)
    effects: dict[str, set[tuple[str, int]]] = {}
    for request in arrived:
        if request.effect is not None:
            effects.setdefault(request.marker, set()).add((request.vendor, request.effect))
    kept = {(it.vendor, it.step_key) for it in arrived if it.effect is not None}
    return Verdict(
        lost=tuple(run for run in begun if run.status != "answered"),
        left_out=tuple(
            run for run in begun if run.status == "answered" and made[run.id] < run.asked
        ),
        duplicates=tuple(sorted(marker for marker, found in effects.items() if len(found) > 1)),
        missing=tuple(
            write
            for write in shown
            if write.fate == "done" and (write.vendor, write.step_key) not in kept
        ),
        hidden=tuple(
            write
            for write in shown
            if write.fate in NOT_DONE and (write.vendor, write.step_key) in kept
        ),
        unsettled=tuple(write for write in shown if not write.fate),
        unknown=tuple(_unknown(write, arrived) for write in shown if write.fate == "unknown"),
        caught={
            kind: sum(write.is_caught and write.kind is kind for write in shown) for kind in Kind
        },
    )


def _unknown(write: WriteShown, arrived: Iterable[Request]) -> Unknown:
    mine = [it for it in arrived if (it.vendor, it.step_key) == (write.vendor, write.step_key)]
    return Unknown(
        write=write,
        marker=mine[0].marker if mine else "",
        took_effect=any(it.effect is not None for it in mine),
    )


def _named(write: WriteShown) -> str:
    return f"a write to {write.vendor} of run {write.run_id} ({write.step_key[:12]})"
