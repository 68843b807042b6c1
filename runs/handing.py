"""Work that is handed down, and what comes back, as versions of a thread in the commits of their calls (HO-03, HO-04).

Version 1 is the task, in the commit that marks the call; version 2 what came back, in the commit that settles it. The thread
follows from the delegation's key: whoever asks again, or takes the run over, finds the same.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from handoffs.content import Content, body_text, fits
from handoffs.ride import reading_of, ride_of
from liyagent.core.canonical import digest
from liyagent.gateway.a2a_card import ASK
from liyagent.gateway.contracts import address_of
from liyagent.gateway.models import Transport
from liyagent.gateway.outcome import Call, Fate, Outcome, Payload
from runs import hot
from runs.checkpoint import Checkpoint
from runs.event_buffer import FULL
from runs.family import WORKFLOW as PINNED
from runs.handed import AGENT, NAME, READ, REMOTE, WORKFLOW, WRITTEN, Handed, tell_version
from runs.models import Run

Ride = dict[str, Any]

KIND = "delegation"
HAND = "SELECT liyagent_hand(%s)"


def hand_to_agent(
    checkpoint: Checkpoint, child: Run, *, key: str, task: str, keeps: bool
) -> tuple[Handed, Ride, dict[str, Any]]:
    """Return the hand-off of a task as a child is given it: for its mark, as it rides, and for the child's first part.

    `keeps`: the task itself may be kept. Words are kept where parent and child are recorded in full, else their digest.
    """
    keeps_words = keeps and checkpoint.run.recording == child.recording == FULL
    body = _told(checkpoint, {"task": task}, words={"task"}, keeps=keeps_words)
    recipient = f"{AGENT}{child.agent_key}"
    handed, ride = _begin(checkpoint, body, recipient, key=key, keeps_words=keeps_words)
    sealed: dict[str, Any] = {
        "thread": str(handed.thread),
        "digest": handed.digest,
        "from": handed.sender,
    }
    # The child makes the digest of its own task again; of one that is kept nowhere, of what stands for it.
    return handed, ride, sealed if body["task"] == task else {**sealed, **body}


def asks_remote_agent(call: Call) -> bool:
    """Whether a call asks an agent of another house."""
    if call.tool != ASK or call.contract is None:
        return False
    address = address_of(call.server)
    return address is not None and address.transport == Transport.A2A


def hand_to_remote(
    checkpoint: Checkpoint, call: Call, payload: Payload, *, place: tuple[int, ...]
) -> tuple[Handed, Ride]:
    """Return the hand-off of a message to a remote agent: its words are kept where this run is recorded in full.

    One key is sent by several calls, as where a step is tried again; `place` says by which.
    """
    key = " ".join(map(str, (payload.key, checkpoint.run_id, *place)))
    keeps_words = checkpoint.run.recording == FULL
    args = {name: value for name, value in payload.args.items() if value != payload.key}
    asked = {"task": args.pop("message", ""), **({"goes_on": args} if args else {})}
    body = _told(checkpoint, asked, words=set(asked), keeps=keeps_words)
    return _begin(checkpoint, body, f"{REMOTE}{call.server}", key=key, keeps_words=keeps_words)


def hear_back(checkpoint: Checkpoint, place: tuple[int, int], outcome: Outcome) -> Ride | None:
    """Return what came back of what the call at `place` handed over, None where it handed nothing over.

    It rides where the call is settled, as version 2 and read by this run; its events are buffered.
    """
    handed, child = checkpoint.handed.pop(place, None), checkpoint.heard.pop(place, None)
    return None if handed is None else _back(checkpoint, handed, outcome, child=child)


def tell_written(checkpoint: Checkpoint, handed: Handed) -> None:
    """Buffer that this run wrote the first version."""
    tell_version(
        checkpoint.events,
        thread=handed.thread,
        number=1,
        digest=handed.digest,
        direction=WRITTEN,
    )


def tell_unheard(checkpoint: Checkpoint) -> None:
    """Buffer what was handed to other houses and never settled: this run ends, and nobody will hear of it."""
    for _, handed in sorted(checkpoint.handed.items()):
        if handed.is_remote:
            tell_written(checkpoint, handed)
    checkpoint.handed.clear()


def hear_unmarked(
    checkpoint: Checkpoint, call: Call, payload: Payload, outcome: Outcome, *, step: int
) -> None:
    """Keep both versions of what was asked of a remote agent as a read, which has no mark: in a commit of their own.

    A read is made again by whoever takes the run over, and is another hand-off then.
    """
    place = (step, call.index, checkpoint.run.attempt)
    handed, first = hand_to_remote(checkpoint, call, payload, place=place)
    second = _back(checkpoint, handed, outcome, child=None)
    hot.ask(HAND, (Jsonb([first, second]),), give_up=checkpoint.give_up)


def read_task(checkpoint: Checkpoint) -> None:
    """Keep, once, that a child read what it was handed, by the digest that it makes of its own sealed task; buffer the event.

    A run that nobody handed its task asks the database nothing.
    """
    run, start = checkpoint.run, checkpoint.parts[0]
    given = start.get(NAME)
    if given is None:
        return
    thread, reader = UUID(given["thread"]), f"{AGENT}{run.agent_key}"
    body = body_text({"task": given.get("task", start["task"])})
    read = Content(sender=given["from"], recipient=reader, kind=KIND, body=body).digest()
    reading = reading_of(thread=thread, number=1, digest=read, reader=reader, run_id=run.id)
    hot.ask(HAND, (Jsonb(reading),), give_up=checkpoint.give_up)
    tell_version(checkpoint.events, thread=thread, number=1, digest=read, direction=READ)


def _back(checkpoint: Checkpoint, handed: Handed, outcome: Outcome, *, child: Run | None) -> Ride:
    """`child` is the run that did the work, None where it is another house's, or gone."""
    run, events = checkpoint.run, checkpoint.events
    name = "answer" if outcome.fate is Fate.DONE else "error"
    came = outcome.result if outcome.fate is Fate.DONE else outcome.error or outcome.result
    status = outcome.fate.value if child is None else child.status
    body = {"status": status, name: came}
    body = _told(checkpoint, body, words={name}, keeps=handed.keeps_words)
    ride = ride_of(
        thread=handed.thread,
        number=2,
        sender=handed.recipient,
        recipient=handed.sender,
        kind=KIND,
        body=body,
        author=handed.recipient,
        mission=run.mission,
        run_id=run.id if child is None else child.id,
        correlation_id=run.correlation_id,
        request_id=run.request_id,
        reader=handed.sender,
        reader_run=run.id,
    )
    if handed.is_remote:
        tell_written(checkpoint, handed)
    tell_version(events, thread=handed.thread, number=2, digest=ride["digest"], direction=READ)
    return ride


def _told(
    checkpoint: Checkpoint, body: dict[str, Any], *, words: set[str], keeps: bool
) -> dict[str, Any]:
    """A body as it is handed over: of words that may not be kept, or are too long for any hand-off, their digest."""
    if keeps and fits(body):
        return body
    digest_of = checkpoint.events.digest
    return {name: digest_of(it) if name in words else it for name, it in body.items()}


def _begin(
    checkpoint: Checkpoint, body: dict[str, Any], recipient: str, *, key: str, keeps_words: bool
) -> tuple[Handed, Ride]:
    run = checkpoint.run
    thread = UUID(digest(["handoff", str(run.correlation_id), key])[:32])
    ride = ride_of(
        thread=thread,
        number=1,
        sender=_sender(checkpoint),
        recipient=recipient,
        kind=KIND,
        body=body,
        author=f"{AGENT}{run.agent_key}",
        mission=run.mission,
        run_id=run.id,
        correlation_id=run.correlation_id,
        request_id=run.request_id,
    )
    handed = Handed(
        thread=thread,
        digest=ride["digest"],
        sender=ride["sender"],
        recipient=recipient,
        keeps_words=keeps_words,
    )
    return handed, ride


def _sender(checkpoint: Checkpoint) -> str:
    """Who hands it on: a workflow by what was sealed when it began, else the agent that acts."""
    pinned = checkpoint.parts[0].get(PINNED)
    return f"{WORKFLOW}{pinned['key']}" if pinned else f"{AGENT}{checkpoint.acting}"
