"""Read a thread: every version verified, whether the chain holds, and who read which (HO-01, HO-05)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from events.keys import checking_keys
from handoffs.content import Content
from handoffs.heads import MOST_VERSIONS, no_thread
from handoffs.judge import (
    flaw_of_content,
    flaw_of_reading,
    flaw_of_version,
    versions_to_judge,
)
from handoffs.models import Reading, Version
from handoffs.stored import contents_under
from handoffs.written import contradictions, is_told_of

# So many bytes of bodies are in one answer, those of the newest versions first; the others are read one by one.
MOST_TOLD_BYTES = 4 << 20
MOST_READINGS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionTold:
    """A version. `content` is what is stored of it, None where it is gone; `flaw` is why it does not verify, "" where it does.

    `is_long`: its body is left out here (it is "" in `content`), for there is too much of the others.
    """

    version: Version
    content: Content | None
    flaw: str
    is_long: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTold:
    """A thread. `problems` say why its chain does not hold; `has_more_readings`: there are more than are told."""

    thread: UUID
    versions: list[VersionTold]
    problems: list[str]
    readings: list[Reading]
    has_more_readings: bool

    @property
    def chain_holds(self) -> bool:
        """Whether all that was handed over in it is there, as it was, in its order."""
        return not self.problems


def read_thread(thread: UUID) -> ThreadTold:
    """Return a thread, all of it verified now. Raises `HandoffUnknown` where nothing tells of it."""
    found = list(versions_to_judge().filter(thread=thread).order_by("number")[: MOST_VERSIONS + 1])
    if not found and not is_told_of(thread):
        raise no_thread(thread)
    versions = _told(found)
    readings = list(Reading.objects.filter(thread=thread).order_by("id")[: MOST_READINGS + 1])
    digests = {it.number: it.snapshot_id for it in found}
    return ThreadTold(
        thread=thread,
        versions=versions,
        problems=[
            *_problems(versions),
            *contradictions(thread, digests),
            *_not_read(readings[:MOST_READINGS]),
        ],
        readings=readings[:MOST_READINGS],
        has_more_readings=len(readings) > MOST_READINGS,
    )


def _told(found: Sequence[Version]) -> list[VersionTold]:
    """Judge each, the newest first: their bodies are the ones to be told, as far as there is room."""
    keys, left = checking_keys(), MOST_TOLD_BYTES
    flaws, kept = {}, {}
    newest = list(dict.fromkeys(it.snapshot_id for it in reversed(found)))
    for digest, content in contents_under(newest):
        flaws[digest] = flaw_of_content(digest, content)
        left -= len(content.body)
        kept[digest] = content if left >= 0 else content.without_body()
    return [_one(it, kept.get(it.snapshot_id), flaws, flaw_of_version(it, keys)) for it in found]


def _one(
    version: Version, content: Content | None, flaws: dict[str, str], flaw: str
) -> VersionTold:
    digest = version.snapshot_id
    return VersionTold(
        version=version,
        content=content,
        flaw=flaw_of_content(digest, None) if content is None else flaws[digest] or flaw,
        is_long=content is not None and not content.body,
    )


def _problems(versions: Sequence[VersionTold]) -> Iterator[str]:
    """Say what of the versions themselves keeps the chain from holding."""
    if not versions:
        yield "no version of it is left"
    if len(versions) > MOST_VERSIONS:
        yield f"there are more than {MOST_VERSIONS} versions, which no thread takes"
    expected = 1
    for it in versions:
        number = it.version.number
        if number != expected:
            yield f"version {expected} is not there"
        if it.flaw:
            yield f"version {number}: {it.flaw}"
        expected = number + 1


def _not_read(readings: Sequence[Reading]) -> Iterator[str]:
    """Say which readings nobody with a key of ours wrote."""
    keys = checking_keys()
    for it in readings:
        if flaw := flaw_of_reading(it, keys):
            yield f"that {it.reader} read version {it.number}: {flaw}"
