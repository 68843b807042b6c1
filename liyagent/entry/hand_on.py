"""Say how a way hands on: what each process then does for it, on a thread of its own."""

from __future__ import annotations

from functools import partial

from liyagent.entry.deliver import OUTBOX, deliver_due, values_of_due
from liyagent.entry.ways import RECEIVERS, SENDERS, Receiver, Sender
from runs.rounds import ROUNDS, Round


def hand_on_by(way: str, sender: Sender, *, receiver: Receiver) -> None:
    """Have `sender` hand on what is owed by `way`; one that is slow holds up no other way. Called when a process starts.

    `receiver` says to a person to whom.
    """
    SENDERS[way], RECEIVERS[way] = sender, receiver
    ROUNDS[f"{way} deliveries"] = Round(
        look=partial(deliver_due, way=way),
        due=f"EXISTS ({OUTBOX.due_statement})",
        values=partial(values_of_due, way),
    )
