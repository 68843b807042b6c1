"""One stored event, as it is stored, to be copied: every column that its hash and its tag are made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from events.content import content_of
from events.reading import STORED_AT
from events.tags import BESIDE, read_tag
from events.words import without_words
from runs.models import Run

LONGEST = 200_000
EVENT = f"""
SELECT number, run_id, {STORED_AT}, kind, mission, recording, left(content, %s), length(content), encode(hash, 'hex'), encode(tag, 'hex')
    FROM events_runevent WHERE correlation_id = %s AND number = %s
"""  # noqa: S608 - a constant
BEFORE = "SELECT encode(hash, 'hex') FROM events_runevent WHERE correlation_id = %s AND number = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEvent:
    """An event's row. `text` is JSON in ASCII, so that what is copied is what is stored, letter by letter.

    `withheld`: its words may not be read here, so that neither may the stored text. `cut`: how long the text is where it is
    longer than what is shown, 0 where all of it is.
    """

    number: int
    run_id: UUID
    at: datetime
    kind: str
    text: str
    hash: str
    tag: str
    wrote: str
    withheld: bool
    cut: int


def raw_event(run: Run, number: int, *, with_words: bool) -> RawEvent | None:
    """Return an event of the run's chain, of whichever run of it; None where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(EVENT, [LONGEST, run.correlation_id, number])
        row = cursor.fetchone()
        cursor.execute(BEFORE, [run.correlation_id, number - 1])
        before = cursor.fetchone()
    if row is None:
        return None
    number, run_id, at, kind, mission, recording, content, length, digest, tag = row
    told = _told(content, is_cut=length > LONGEST, with_words=with_words)
    columns = {
        "correlation_id": str(run.correlation_id),
        "number": number,
        "run_id": str(run_id),
        "at": at.isoformat(),
        "kind": kind,
        "mission": mission,
        "recording": recording,
        **told,
        "hash": digest,
        "hash_before": before[0] if before else None,
        "tag": tag,
    }
    return RawEvent(
        number=number,
        run_id=run_id,
        at=at,
        kind=kind,
        text=json.dumps(columns, indent=1),
        hash=digest,
        tag=tag,
        wrote=_who_wrote(tag),
        withheld="content" not in told,
        cut=length if length > LONGEST else 0,
    )


def _told(content: str, *, is_cut: bool, with_words: bool) -> dict[str, Any]:
    """The stored text, where who asks may read words or it holds none; else its facts."""
    if with_words:
        return {"content": content}
    facts = without_words(content_of(content))
    is_all = bool(facts) and "withheld" not in facts and not is_cut
    return {"content": content} if is_all else {"facts": facts}


def _who_wrote(tag: str) -> str:
    taken_apart = read_tag(bytes.fromhex(tag))
    if taken_apart is None:
        return "it bears no tag"
    key = taken_apart.fingerprint.hex()
    if taken_apart.attempt == BESIDE:
        return f"written beside any attempt, with key {key}"
    return f"written by attempt {taken_apart.attempt} as its number {taken_apart.ordinal}, with key {key}"
