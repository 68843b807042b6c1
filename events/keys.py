"""The record's keys of this process: derived from LIYAGENT_SEAL_KEYS, the first tags and seals, all are checked by."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from events.tags import BESIDE, RecordKey, Tagger, record_key, record_keys


def tagging_key() -> RecordKey:
    """Return the key that tags now."""
    _, master = settings.LIYAGENT.seal_keys[0]
    return record_key(master)


def checking_keys() -> list[RecordKey]:
    """Return all keys whose tags can be checked here."""
    return record_keys(master for _, master in settings.LIYAGENT.seal_keys)


def tagger_of(*, correlation_id: UUID, run_id: UUID, mission: str, attempt: int = BESIDE) -> Tagger:
    """Return what tags the events of an attempt, or of who writes beside it."""
    return Tagger(
        key=tagging_key(),
        correlation_id=correlation_id,
        run_id=run_id,
        mission=mission,
        attempt=attempt,
    )
