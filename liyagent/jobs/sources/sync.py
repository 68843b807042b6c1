"""`source_sync`: bring the documents of a source in step with what it offers, one a step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from liyagent.jobs.ask import Asked, ask_for
from liyagent.jobs.errors import JobFailed
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import Job
from liyagent.jobs.sources.errors import Gone, SourceAway, Unreadable
from liyagent.jobs.sources.folder import Folder
from liyagent.jobs.sources.keep import digest_of, forget_documents, keep_document
from liyagent.jobs.sources.kinds import KIND
from liyagent.jobs.sources.models import Document, Source, SourceKind
from liyagent.jobs.sources.origin import Origin
from liyagent.jobs.sources.resources import Resources
from liyagent.jobs.sources.save import find_source
from liyagent.jobs.sources.urls_origin import Addresses

# Told with the reason; of more only the number.
MOST_TOLD = 5
LONGEST_TOLD = 90
# Documents whose digests are read at once, and that are forgotten in one step.
TOGETHER = 500
# Of those that are listed and not there: as many as a source names addresses. A folder lists no more what is gone.
MOST_GONE = 500


def ask_sync(key: str, *, asked_by: str, mission: str = "") -> Asked:
    """Ask for a sync of a source; one that goes on already is found. Raises `SourceUnknown`."""
    return ask_for(KIND, find_source(key).key, asked_by=asked_by, mission=mission)


def origin_of(source: Source) -> Origin:
    """Return where the documents of a source come from."""
    told = source.settings
    match source.kind:
        case SourceKind.FOLDER:
            return Folder(told["folder"])
        case SourceKind.URLS:
            return Addresses(told["urls"])
        case _:
            return Resources(told["server"])


@dataclass(slots=True)
class _At:
    """Where a sync is: what the cursor keeps."""

    after: str = ""
    written: int = 0
    unreadable: int = 0
    told: list[str] = field(default_factory=list)
    # Short digests of paths that are listed and not there.
    gone: list[str] = field(default_factory=list)

    def cursor(self) -> dict[str, Any]:
        return {
            "after": self.after,
            "written": self.written,
            "unreadable": self.unreadable,
            "told": self.told,
            "gone": self.gone,
        }

    def note(self, path: str, error: Unreadable) -> None:
        self.unreadable += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(f"{path[-LONGEST_TOLD:]} {str(error)[:LONGEST_TOLD]}")


def sync_steps(job: Job) -> Iterator[Step]:
    """Yield a step for each document, which is written where it changed; then for those that are gone.

    Raises `SourceAway` where the source is not there, at the beginning or meanwhile: nothing is forgotten then. Where single
    documents could not be read, all else is done, and then `JobFailed` names them.
    """
    source = Source.objects.filter(key=job.subject).first()
    if source is None:
        raise SourceAway(f"the source {job.subject} was removed")
    at = _At(**job.cursor)
    origin = origin_of(source)
    paths = origin.paths()
    if not paths and Document.objects.filter(source=source).exists():
        raise SourceAway(
            f"nothing is left of {source.key}: its documents stay; remove the source if that is meant"
        )
    yield from _documents(source, origin, paths, at)
    yield from _gone(source, origin, at, total=len(paths))
    if at.unreadable:
        more = "; ..." if at.unreadable > len(at.told) else ""
        raise JobFailed(
            f"{at.unreadable} of {len(paths)} could not be read: {'; '.join(at.told)}{more}"
        )


def _documents(source: Source, origin: Origin, paths: list[str], at: _At) -> Iterator[Step]:
    known: dict[str, str] = {}
    for number, path in enumerate(paths, start=1):
        if path <= at.after:
            continue
        if path not in known:
            known = _digests(source, paths[number - 1 : number - 1 + TOGETHER])
        step = partial(Step, done=number, total=len(paths), words=path)
        keep = _change(source, origin, path, known[path], at)
        at.after = path
        if keep is None:
            yield step(cursor=at.cursor())
        else:
            at.written += 1
            yield step(cursor=at.cursor(), keep=keep)


def _change(source: Source, origin: Origin, path: str, known: str, at: _At) -> Callable[[], None] | None:  # fmt: skip
    """What is to be written of a document: nothing where it is as it was, gone, or cannot be read, which is noted."""
    try:
        content = origin.read(path)
    except Gone:
        if len(at.gone) < MOST_GONE:
            at.gone.append(_short(path))
        return None
    except Unreadable as error:
        at.note(path, error)
        return None
    digest = digest_of(content)
    return None if digest == known else partial(keep_document, source, path, content, digest)


def _digests(source: Source, paths: list[str]) -> dict[str, str]:
    """By path, empty where there is none yet."""
    rows = Document.objects.filter(source=source, path__in=paths).values_list("path", "digest")
    return {**dict.fromkeys(paths, ""), **dict(rows)}


def _short(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]


def _gone(source: Source, origin: Origin, at: _At, *, total: int) -> Iterator[Step]:
    """Listed once more: what was gone while it was read, or is away as a whole, is seen here."""
    missing = set(at.gone)
    there = {path for path in origin.paths() if _short(path) not in missing}
    if not there and total:
        raise SourceAway(
            f"nothing is left of {source.key}: its documents stay; remove the source if that is meant"
        )
    last = ""
    while True:
        rows = Document.objects.filter(source=source, path__gt=last).order_by("path")
        kept = list(rows.values_list("path", flat=True)[:TOGETHER])
        if not kept:
            return
        last = kept[-1]
        gone = [path for path in kept if path not in there]
        if gone:
            words = f"{len(gone)} are gone"
            yield Step(cursor=at.cursor(), done=total, total=total, words=words, keep=partial(forget_documents, source, gone))  # fmt: skip


HANDLERS[KIND] = Handler(steps=sync_steps)
