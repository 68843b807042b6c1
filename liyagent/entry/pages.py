"""How arrivals and deliveries are said in words, for whoever reads them at night."""

from __future__ import annotations

from django.utils.safestring import SafeString

from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import visible
from liyagent.entry.models import Arrival, ArrivalState, Delivery, DeliveryState
from liyagent.entry.ways import RECEIVERS

ARRIVAL_COLOURS = {
    ArrivalState.RECEIVED: WARN,
    ArrivalState.STARTED: GOOD,
    ArrivalState.ENDED: QUIET,
    ArrivalState.REFUSED: BAD,
    ArrivalState.SKIPPED: QUIET,
}
ARRIVAL_WORDS = {
    ArrivalState.RECEIVED: "It is kept, and not started yet: any process starts it, for a day.",
    ArrivalState.STARTED: "Its run goes on.",
    ArrivalState.ENDED: "Its run has ended.",
    ArrivalState.REFUSED: "Nothing was started of it, and nothing will be.",
    ArrivalState.SKIPPED: "It was left out on purpose, as its trigger says.",
}
DELIVERY_COLOURS = {
    DeliveryState.WAITING: QUIET,
    DeliveryState.PENDING: WARN,
    DeliveryState.DELIVERED: GOOD,
    DeliveryState.UNCONFIRMED: BAD,
    DeliveryState.DEAD: BAD,
    DeliveryState.CLOSED: QUIET,
}
DELIVERY_WORDS = {
    DeliveryState.WAITING: "It is sent once its run has ended.",
    DeliveryState.PENDING: "It is due: processes try to send it until it arrives, or for a day.",
    DeliveryState.DELIVERED: "It was handed on.",
    DeliveryState.UNCONFIRMED: (
        "It was sent, and nobody can tell whether it arrived. It is not sent again by itself. Look at the other end: "
        "if it is there, close it here; if not, send it again."
    ),
    DeliveryState.DEAD: (
        "It was given up: nobody at the other end has it. Mend what the error says, then send it again; "
        "or close it, where it is not wanted any more."
    ),
    DeliveryState.CLOSED: "A person has closed it: it is not sent any more.",
}
KINDS = {
    "placeholder": "a first message, that the answer then replaces",
    "answer": "the answer of the run",
    "approval": "a card that asks for a decision",
    "settled": "a card brought up to date after a decision",
    "push": "word that a task moved on",
}


def arrival_state(arrival: Arrival) -> SafeString:
    """Return where an arrival stands, and how its run ended."""
    state = ArrivalState(arrival.state)
    if state == ArrivalState.ENDED and arrival.outcome:
        colour = QUIET if arrival.outcome == "answered" else BAD
        return pill(f"ended: {arrival.outcome}", colour)
    return pill(state.value, ARRIVAL_COLOURS[state])


def delivery_state(delivery: Delivery) -> SafeString:
    """Return how a delivery stands; one that is due says where trying fails."""
    state = DeliveryState(delivery.state)
    if state == DeliveryState.PENDING and delivery.failures:
        return pill(f"pending, failed {delivery.failures} times", WARN)
    return pill(state.value, DELIVERY_COLOURS[state])


def receiver_of(delivery: Delivery) -> str:
    """Return who is at the other end: as its way names it, else by the facts of its address."""
    named = RECEIVERS.get(delivery.way)
    told = named(delivery) if named else ""
    if not told:
        facts = delivery.address if isinstance(delivery.address, dict) else {}
        told = ", ".join(f"{name}: {value}" for name, value in facts.items())
    return visible(told or "nobody is named")
