"""What the request to begin a failed run again shows: what would be made a second time, and what is known of the run."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from liyagent.access.permissions import OPERATE, VIEW_RUN
from liyagent.approvals.models import Approval
from liyagent.core.tables import cell
from liyagent.tickets.pages import shown_sections
from runs.bare_writes import bare_of
from runs.models import Run
from runs.saga_sentence import beginning_of, counted
from runs.saga_state import counts_of
from runs.saga_view import ShownUndo, left_of
from runs.sagas_admin import may_be_compensated
from sagas.models import Saga

MOST_LEFT = 50
# Told above, from the rows as they stand now.
ELSEWHERE = frozenset(
    {"not_undone", "writes_of_unknown_outcome", "undos", "counted", "run", "workflow", "version"}
)
MOST_ATTEMPTS = 100


def handed_over(
    request: HttpRequest, approval: Approval, run: Run | None, args: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the saga as it stands now, and what was filed of the run where that may be read (`args`)."""
    saga = Saga.objects.defer("context").filter(id=approval.run_id).first()
    if saga is None:
        return {"beginning": "left nothing that is kept here", "left": [], "sections": _sections(args)}  # fmt: skip
    user = request.user
    left: list[ShownUndo] = left_of(saga, most=MOST_LEFT + 1)
    counts = counts_of([saga.id]).get(saga.id, {})
    sees, bare = user.has_perm(VIEW_RUN), bare_of(saga)
    return {
        "beginning": beginning_of(saga, run),
        "counted": counted(saga, counts, 0, is_more=False, bare=bare["bare_told"]),
        **bare,
        "left": left[:MOST_LEFT],
        "is_more": len(left) > MOST_LEFT,
        "link": _page(saga) if sees else "",
        "may_compensate": sees and user.has_perm(OPERATE) and may_be_compensated(saga),
        "compensate": reverse("admin:sagas_saga_compensate", args=[saga.id]),
        "sections": _sections(args),
        "attempts": _attempts(args),
    }


def _page(saga: Saga) -> str:
    return reverse("admin:sagas_saga_change", args=[saga.id])


def _sections(args: dict[str, Any] | None) -> list[dict[str, Any]]:
    if args is None:
        return []
    has_table = bool(_attempts(args))
    body = {
        name: value
        for name, value in args.items()
        if name not in ELSEWHERE and not (has_table and name == "attempts")
    }
    return shown_sections(body)


def _attempts(args: dict[str, Any] | None) -> list[dict[str, str]]:
    """The last hundred tries of its steps, as lines; nothing where what was filed is no such list."""
    found = args.get("attempts") if args is not None else None
    if not isinstance(found, list) or not all(isinstance(it, dict) for it in found):
        return []
    names = ("step", "attempt", "came", "error")
    return [{name: cell(it.get(name)) for name in names} for it in found[-MOST_ATTEMPTS:]]
