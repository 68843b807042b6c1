"""What else tells of a thread's versions: the audit log, and who read them. By them it shows where one was taken away, or could
not be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db.models.fields.json import KeyTextTransform

from handoffs.heads import MOST_VERSIONS
from handoffs.models import Reading
from liyagent.audit.models import AuditRow

# Of rows that somebody added by hand no more are looked at.
MOST_ROWS = 2 * MOST_VERSIONS


def is_told_of(thread: UUID) -> bool:
    """Whether anything tells of a thread of which no version is left."""
    return bool(_read(thread) or _audited(thread))


def contradictions(thread: UUID, digests: Mapping[int, str]) -> list[str]:
    """Return where the audit log or a reading tells of another version than there is. `digests`: of those there are."""
    known = {str(number): digest for number, digest in digests.items()}
    told = [
        *(
            _contradiction("audited", number, digest, known) if not lost else _lost(number, lost)
            for number, digest, lost in _audited(thread)
        ),
        *(_contradiction("read", *it, known) for it in _read(thread)),
    ]
    return list(dict.fromkeys(it for it in told if it))


def _contradiction(done: str, number: str, digest: str, known: Mapping[str, str]) -> str:
    if number not in known:
        return f"version {number[:20]} was {done}, and is gone"
    same = known[number] == digest
    return "" if same else f"version {number} was {done} with the digest {digest[:64]}"


def _lost(number: str, state: str) -> str:
    return f"version {number[:20]}, or that it was read, could not be kept (SQLSTATE {state[:5]})"


def _read(thread: UUID) -> list[tuple[str, str]]:
    rows = Reading.objects.filter(thread=thread).order_by("number", "digest")
    pairs = rows.values_list("number", "digest").distinct()[:MOST_ROWS]
    return [(str(number), digest) for number, digest in pairs]


def _audited(thread: UUID) -> list[tuple[str, str, str]]:
    """The number, the digest, and why it could not be kept, "" where it was."""
    rows = AuditRow.objects.filter(action="agent.handoff").annotate(
        of_thread=KeyTextTransform("thread", "detail"),
        of_version=KeyTextTransform("version", "detail"),
        of_digest=KeyTextTransform("digest", "detail"),
        lost=KeyTextTransform("lost", "detail"),
    )
    found = rows.filter(of_thread=str(thread)).order_by()
    columns = found.values_list("of_version", "of_digest", "lost")[:MOST_ROWS]
    return sorted((str(number), str(digest), lost or "") for number, digest, lost in columns)
