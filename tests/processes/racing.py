"""Two decisions that reach two processes at the same instant: all of both is sent before, but the last byte of each."""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.processes.asking import Asking, Request
from tests.processes.place import Place

READY_AT_ONCE = 10
VERBS = {"approved": "approve", "rejected": "reject"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one person says about one request, `at` one process."""

    request: Request
    at: str
    by: str
    status: str = "approved"
    reason: str = "looks right"

    def bytes_for(self, host: str, token: str) -> bytes:
        """The request as it goes over the wire: its body ends it."""
        body = json.dumps({"reason": self.reason, "digest": self.request.digest})
        return (
            f"POST /api/approvals/{self.request.id}/{VERBS[self.status]} HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        ).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a process answered to a decision."""

    decision: Decision
    status: int
    data: dict[str, Any]


@dataclass(slots=True)
class Held:
    """A request that a process has received but for its last byte."""

    address: tuple[str, int]
    sent: bytes
    _socket: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        """Connect, and send all but the last byte."""
        self._socket = socket.create_connection(self.address, timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(self.sent[:-1])

    def fire(self) -> None:
        """Send the last byte."""
        self._socket.sendall(self.sent[-1:])

    def told(self) -> tuple[int, dict[str, Any]]:
        """Wait for the answer, and hang up."""
        with closing(self._socket), closing(http.client.HTTPResponse(self._socket)) as response:
            response.begin()
            return response.status, json.loads(response.read())


@dataclass(slots=True)
class Shot:
    """A decision that a process has received but for its last byte."""

    decision: Decision
    asking: Asking
    _held: Held = field(init=False)

    def __post_init__(self) -> None:
        """Connect, and send all but the last byte."""
        at = address(self.asking.place, self.decision.at)
        self._held = Held(at, self.decision.bytes_for(at[0], self.asking.tokens[self.decision.by]))

    def fire(self) -> None:
        """Send the last byte."""
        self._held.fire()

    def answer(self) -> Answer:
        """Wait for the answer, and hang up."""
        status, told = self._held.told()
        return Answer(decision=self.decision, status=status, data=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A round: both answers, in the order in which the decisions were fired, and how far apart that was."""

    answers: tuple[Answer, Answer]
    gap_ms: float

    @property
    def winner(self) -> Answer:
        """The one answer of 200."""
        (won,) = [it for it in self.answers if it.status == 200]
        return won

    @property
    def loser(self) -> Answer:
        """The one answer of 409."""
        (lost,) = [it for it in self.answers if it.status == 409]
        return lost


def address(place: Place, at: str) -> tuple[str, int]:
    """Host and port of a process."""
    parts = urlsplit(place.stage.url(at))
    return parts.hostname or "", parts.port or 0


def volley(
    asking: Asking, rounds: Sequence[tuple[Decision, Decision]], *, release: Callable[[], None]
) -> list[Met]:
    """Fire the two decisions of all rounds, let go what holds them up, and return what came of each."""
    fired = [_fired(pair) for pair in _loaded(asking, rounds)]
    release()
    return [it() for it in fired]


def race(asking: Asking, rounds: Sequence[tuple[Decision, Decision]]) -> list[Met]:
    """Fire the two decisions of each round at once, the second round's other one first; return what came of each."""
    return list(_raced(asking, rounds))


def _raced(asking: Asking, rounds: Sequence[tuple[Decision, Decision]]) -> Iterator[Met]:
    for start in range(0, len(rounds), READY_AT_ONCE):
        for pair in _loaded(asking, rounds[start : start + READY_AT_ONCE]):
            yield _fired(pair)()


def _loaded(asking: Asking, rounds: Sequence[tuple[Decision, Decision]]) -> list[tuple[Shot, Shot]]:
    """All is sent but the last bytes; the second round's other decision is fired first."""
    loaded = [(Shot(one, asking), Shot(other, asking)) for one, other in rounds]
    return [pair if number % 2 else pair[::-1] for number, pair in enumerate(loaded)]


def _fired(pair: tuple[Shot, Shot]) -> Callable[[], Met]:
    """Fire both; what is returned waits for the answers."""
    first, second = pair
    began = time.perf_counter_ns()
    first.fire()
    second.fire()
    gap_ms = (time.perf_counter_ns() - began) / 1e6
    return lambda: Met(answers=(first.answer(), second.answer()), gap_ms=gap_ms)


def figures(what: str, met: Sequence[Met], *, seconds: float) -> str:
    """Say how far apart the two of each round were sent, where the first decision was made, and how long it took."""
    gaps = [it.gap_ms for it in met]
    won = Counter(it.winner.decision.at for it in met if {200, 409} == _statuses(it))
    decided = Counter(it.winner.data["status"] for it in met if {200, 409} == _statuses(it))
    return (
        f"{what}: {len(met)} rounds in {seconds:.1f} s; sent {statistics.median(gaps):.3f} ms apart,"
        f" {sum(it < 1 for it in gaps)} within 1 ms, at most {max(gaps):.3f} ms; first {dict(sorted(won.items()))}, {dict(decided)}"
    )


def _statuses(met: Met) -> set[int]:
    return {it.status for it in met.answers}
