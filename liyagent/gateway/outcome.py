"""What a call is, what the gates say of it and what became of it: values that runs, sagas and replays share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol


class Effect(StrEnum):
    """What a call may change. Unknown means write."""

    READ = "read"
    WRITE = "write"


class KeyPlace(StrEnum):
    """Where a vendor takes the step key. META: `params._meta["io.liyagent/step-key"]`; MESSAGE_ID: of a message to a
    remote agent. Both are sent to all, and trusted where they are named here.
    """

    NONE = "none"
    ARGUMENT = "argument"
    META = "meta"
    MESSAGE_ID = "message_id"


class Fate(StrEnum):
    """What became of a call. UNKNOWN: it may or may not have happened; never an error to retry on."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    HELD = "held"
    UNKNOWN = "unknown"


class Posture(StrEnum):
    """What the gates say: let through, held for a person, refused."""

    POSTURE = "posture"
    HELD = "held"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How a write is found again: call `tool` with `args` (templates over `key` and `args`), then `match`.

    `match` is `{"records": dotted path to a list (or "" for the result itself), "field": dotted path
    in a record}`; a record matches where that field equals our step key (ruling 7).
    """

    tool: str
    args: dict[str, Any]
    match: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What we hold true of a tool: its effect, how it is keyed, read back and undone, its limits (ruling 21)."""

    server: str
    tool: str
    effect: Effect = Effect.WRITE
    key_place: KeyPlace = KeyPlace.NONE
    key_field: str = ""
    key_window_seconds: int = 0
    reader: Reader | None = None
    undo: dict[str, Any] | None = None
    permission: str = ""
    timeout_seconds: float = 30.0
    limit_bytes: int = 1 << 20
    schema: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    changed_since_approved: bool = False
    is_delegation: bool = False

    @property
    def name(self) -> str:
        """`server/tool`."""
        return f"{self.server}/{self.tool}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What a principal may call; "" is nobody. `is_active`: it exists and is; a superuser `holds_all`."""

    principal: str
    is_active: bool
    holds_all: bool = False
    permissions: frozenset[str] = frozenset()

    def holds(self, permission: str) -> bool:
        """Whether it holds what a tool names."""
        return self.is_active and (self.holds_all or permission in self.permissions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Above:
    """An agent that handed work down. `is_held_back`: contained, off or gone, so that nothing below may call."""

    agent: str
    write_posture: str
    rights: Rights
    is_held_back: bool


# Write postures, the strictest first.
STRICTEST = {"refuse": 0, "hold": 1, "allow": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """On whose authority a call is made: what the gates know of the agent and the run.

    `run_as` is the agent's own principal, else who started the run; `rights` are that principal's.
    """

    agent: str
    tool_patterns: tuple[str, ...]
    write_posture: str
    run_as: str
    rights: Rights
    entry: str
    mission: str
    may_wait: bool = False
    contained: bool = False
    # A step of a workflow asks, not a model: it may hand its work to the agent whose workflow it is.
    asks_itself: bool = False
    # The agents that handed the work down, from the root's on, and their rights: a call wants those of each.
    delegated_by: tuple[str, ...] = ()
    rights_above: tuple[Rights, ...] = ()

    def bound_by(self, chain: Sequence[Above]) -> Asker:
        """Return it bound by those who handed the work down: everyone's rights, the strictest posture, any containment."""
        if not chain:
            return self
        postures = (self.write_posture, *(it.write_posture for it in chain))
        return replace(
            self,
            delegated_by=tuple(it.agent for it in chain),
            rights_above=tuple(it.rights for it in chain),
            # What is none of these refuses every write by itself.
            write_posture=min(postures, key=lambda it: STRICTEST.get(it, 0)),
            contained=self.contained or any(it.is_held_back for it in chain),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as the model asked for it, with the contract it is made under.

    `contract` is None for a tool that does not exist; `problem` says why the arguments cannot be
    trusted (ruling 20), "" where they can. `was_write`: marked as a write before, so a write for
    good (CR-25). `unmasked`: the arguments as asked, where a data policy changed `args`; a call is
    always judged from these.
    """

    server: str
    tool: str
    args: dict[str, Any]
    index: int
    provider_call_id: str
    contract: Contract | None
    asker: Asker
    problem: str = ""
    was_write: bool = False
    unmasked: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """`server/tool`."""
        return f"{self.server}/{self.tool}"

    @property
    def is_own_work(self) -> bool:
        """Whether a step of a workflow hands it to the agent whose workflow it is: nobody is given what they have not."""
        is_handed = self.contract is not None and self.contract.is_delegation
        return is_handed and self.asker.asks_itself and self.tool == self.asker.agent

    @property
    def writes(self) -> bool:
        """Whether it is marked before it is sent."""
        return self.was_write or self.contract is None or self.contract.effect is not Effect.READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gates said. `call` is as they left it: that is keyed, digested and sent."""

    call: Call
    posture: Posture
    reason: str = ""
    gate: str = ""
    policy_fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Exactly what leaves: final arguments with the key in its place. A re-send sends these bytes again.

    `agent` is told to reads of local tools alone: whose documents may be searched. It never leaves.
    """

    server: str
    tool: str
    args: dict[str, Any]
    key: str
    mission: str
    is_write: bool
    timeout_seconds: float
    limit_bytes: int
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call came back with. `result` is plain JSON (structured content, else the text).

    `by_tool`: a failure in the tool's own words, about this key. Without it (not sent, refused at the door) a
    failure says that this one sending did nothing, and nothing of an earlier one with the same key.
    """

    fate: Fate
    result: Any = None
    error: str = ""
    key: str = ""
    settlement: str = ""
    duration_ms: int = 0
    by_tool: bool = False


MaySend = Callable[[], bool]
"""True while the mark's own deadline has not passed; asked right before the bytes are written (ruling 6)."""


class NotSent(Exception):
    """The transport asked `may_send` and was told no: not one byte left."""


class Scope(Protocol):
    """Who asks for a call, and what must be remembered of it. Subclassed by name."""

    # Whether what comes of its calls counts among those of their servers; those of a replay went to none.
    is_counted: bool = True

    def step_key(self, call: Call) -> str:
        """Return the key from what identifies the step; fresh where nothing does."""
        ...

    def mark_sending(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        """Commit the mark before anything leaves; an Outcome says that it must not leave at all."""
        ...

    def hold(self, verdict: Verdict) -> Outcome:
        """Put a held call before a person, or refuse it with the reason where nobody can be asked."""
        ...

    def find_out(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Settle a write of unknown outcome in a living run as one in doubt (ruling 9)."""
        ...

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Keep what came of it: a write in one commit, a read as a buffered event."""
        ...
