"""Confidential concerns: while one is open, what it is about leaves no stamps in the audit log (MI-03)."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import IntegrityError, models, transaction
from django.db.models import Func

from liyagent.audit.errors import AlreadyClosed, AlreadyOpen, ConcernNotFound
from liyagent.audit.models import About, Concern
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from missions.names import clean_mission

LONGEST_ACTOR = 200
LONGEST_REFERENCE = 120
GREATEST_ID = 2**63 - 1
STATES = ("open", "closed")
FILTERS = ("state", *PAGING)
NOW = Func(function="liyagent_now", output_field=models.DateTimeField())


def open_concern(*, opened_by: str, actor: str = "", mission: str = "", reference: str = "") -> Concern:  # fmt: skip
    """Open a concern about what `actor` does, or about a mission; about who opens it where neither is named.

    Until it is closed, rows of that actor or mission are written without mission, request id and address, and so is all
    that is written of a run that was started meanwhile, also later. Raises `BadInput`; `AlreadyOpen`.
    """
    about, subject = _subject(actor=actor or (opened_by if not mission else ""), mission=mission)
    _check_line("reference", reference, longest=LONGEST_REFERENCE)
    try:
        with transaction.atomic(durable=True):
            concern = Concern.objects.create(
                about=about,
                subject=subject,
                reference=reference,
                opened_by=opened_by,
                opened_at=NOW,
            )
            # What it is about is told to those alone who may see concerns.
            record("concern.opened", actor=opened_by, detail={"concern": concern.pk})
    except IntegrityError:
        raise AlreadyOpen(f"a concern about this {about.value} is open; close it first") from None
    return find_concern(concern.pk)


def close_concern(concern_id: int, *, closed_by: str) -> Concern:
    """Close a concern: what is written from now on bears its stamps. Raises `ConcernNotFound`, `AlreadyClosed`."""
    with transaction.atomic(durable=True):
        rows = Concern.objects.select_for_update().filter(pk=_known(concern_id), closed_at=None)
        if not rows:
            raise AlreadyClosed(f"concern {find_concern(concern_id).pk} is closed already")
        # Still under it, as whoever closes it may be whom it is about.
        record("concern.closed", actor=closed_by, detail={"concern": concern_id})
        rows.update(closed_by=closed_by, closed_at=NOW)
    return find_concern(concern_id)


def find_concern(concern_id: int) -> Concern:
    """Return a concern. Raises `ConcernNotFound`."""
    found = Concern.objects.filter(pk=_known(concern_id)).first()
    if found is None:
        raise ConcernNotFound(concern_id)
    return found


def list_concerns(asked: Mapping[str, str]) -> Page[Concern]:
    """Return the page of concerns that `asked` (of `FILTERS`) names, newest first. Raises `BadInput`."""
    check_names(asked, FILTERS)
    limit, state = limit_of(asked), asked.get("state", "")
    if "state" in asked and state not in STATES:
        raise BadInput(f"state is {state[:80]!r}; it wants one of {', '.join(STATES)}")
    rows = Concern.objects.order_by("-id")
    if state:
        rows = rows.filter(closed_at__isnull=state == "open")
    if "cursor" in asked:
        (last,) = read_cursor(asked["cursor"], parts=1)
        if not (last.isascii() and last.isdigit() and len(last) < 19):
            raise bad_cursor()
        rows = rows.filter(pk__lt=int(last))
    found = list(rows[: limit + 1])
    more = found[limit - 1 : limit] if len(found) > limit else []
    return Page(rows=found[:limit], next_cursor=write_cursor([str(it.pk) for it in more]) if more else "")  # fmt: skip


def _subject(*, actor: str, mission: str) -> tuple[About, str]:
    if actor and mission:
        raise BadInput("a concern is about an actor or about a mission; give one of both")
    if mission:
        if clean_mission(mission) is None:
            raise BadInput(
                f"mission is {mission[:80]!r}; it wants 1 to 128 letters, digits, "
                "'.', '_', ':' and '-', first a letter or digit"
            )
        return About.MISSION, mission
    if not actor:
        raise BadInput("a concern wants an actor or a mission that it is about")
    _check_line("actor", actor, longest=LONGEST_ACTOR)
    return About.ACTOR, actor


def _check_line(name: str, text: str, *, longest: int) -> None:
    if len(text) > longest or not all(it.isprintable() for it in text):
        raise BadInput(f"{name} wants one line of at most {longest} characters")


def _known(concern_id: int) -> int:
    if not 0 < concern_id <= GREATEST_ID:
        raise ConcernNotFound(concern_id)
    return concern_id
