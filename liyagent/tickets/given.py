"""What is given of a ticket, checked: each value as it is kept, or a refusal that says what is wanted."""

from __future__ import annotations

import re
import unicodedata

from liyagent.core.plain import clean_text
from liyagent.core.tables import cell
from liyagent.tickets.errors import BadTicket
from liyagent.tickets.models import LONGEST_QUEUE, LONGEST_SUBJECT, Priority, TicketState

SOURCE_KIND = re.compile(r"[a-z][a-z0-9_]{0,29}")
SOURCE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
LONGEST_REASON = 500
# Controls, line ends, what has no shape of its own, and all that turns the direction of text.
UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def checked_source(kind: str, source_id: str) -> tuple[str, str]:
    """Return what a ticket is filed for. Raises `BadTicket`."""
    if not SOURCE_KIND.fullmatch(kind):
        raise BadTicket(f"source_kind is {kind[:80]!r}; it wants a word such as saga")
    if not SOURCE_ID.fullmatch(source_id):
        raise BadTicket(f"source_id is {source_id[:80]!r}; it wants an id")
    return kind, source_id


def checked_state(state: str) -> str:
    """Return a state. Raises `BadTicket`."""
    return _one_of("state", state, TicketState.values)


def checked_priority(priority: str) -> str:
    """Return a priority. Raises `BadTicket`."""
    return _one_of("priority", priority, Priority.values)


def checked_queue(queue: str) -> str:
    """Return a queue's name: one line that shows what it holds. Raises `BadTicket`."""
    name = _line("queue", queue)
    if not 1 <= len(name) <= LONGEST_QUEUE:
        raise BadTicket(f"queue has {len(name)} characters; it wants 1 to {LONGEST_QUEUE}")
    return name


def checked_reason(reason: str) -> str:
    """Return why something is changed, on one line; it may be empty. Raises `BadTicket`."""
    line = _line("reason", reason)
    if len(line) > LONGEST_REASON:
        raise BadTicket(f"reason has {len(line)} characters; it wants {LONGEST_REASON} at most")
    return line


def shown_subject(subject: str) -> str:
    """Return a subject on one line, what cannot be seen written out, cut where it is too long. Raises `BadTicket`."""
    if not subject.strip():
        raise BadTicket("subject is empty; it wants what the ticket is about")
    line = cell(subject)
    return line if len(line) <= LONGEST_SUBJECT else f"{line[: LONGEST_SUBJECT - 1]}…"


def _line(name: str, text: str) -> str:
    line = clean_text(text).strip()
    unseen = [it for it in line if unicodedata.category(it) in UNSEEN]
    if unseen:
        told = unseen[0].encode("unicode_escape").decode()
        raise BadTicket(f"{name} holds {told}, which cannot be seen; it wants one line of text")
    return line


def _one_of(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise BadTicket(f"{name} is {value[:80]!r}; it wants one of {', '.join(known)}")
    return value
