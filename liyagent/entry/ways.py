"""What each way does with an answer: tables that the ways fill when the process starts (house, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from liyagent.entry.models import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of one sending. Told where `error` is empty.

    `is_final`: the other end refused it for good, trying again is no use. `may_have_arrived`: nobody can tell (a reset, a
    timeout, 5xx): the mark stays, so that the next claim knows. `is_down`: others to the same end would meet the same.
    `is_unconfirmed`: it ends so, since it can be neither confirmed nor sent again.
    """

    error: str = ""
    vendor_id: str = ""
    is_final: bool = False
    may_have_arrived: bool = False
    is_down: bool = False
    is_unconfirmed: bool = False
    wanted_pause: float = 0.0


# Marks a delivery as leaving, in a commit of its own; called by a sender just before the bytes. It raises
# `LostDelivery` where another process has it by now: then nothing may leave.
Mark = Callable[[], None]
# Sends one delivery, outside any transaction; the second is whether an earlier sending is in doubt.
Sender = Callable[[Delivery, bool, Mark], Sent]

# Says in words who is at the other end of a delivery; empty where nobody is known any more.
Receiver = Callable[[Delivery], str]

SENDERS: dict[str, Sender] = {}
RECEIVERS: dict[str, Receiver] = {}
