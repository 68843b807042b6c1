"""Look after notices: list them, send one again, forget the old ones."""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction

from liyagent.approvals.models import Notice, NoticeState
from liyagent.audit.record import record
from liyagent.core.errors import BadInput, NotFound

MOST_LISTED = 200
DELIVERED_DAYS, DEAD_DAYS, UNTOLD_DAYS = 7, 30, 1
FORGET = """
DELETE FROM approvals_notice WHERE id IN (
    SELECT id FROM approvals_notice
        WHERE state = '{state}' AND {since} < (SELECT liyagent_now()) - make_interval(days => %s)
        ORDER BY {since} LIMIT %s FOR UPDATE SKIP LOCKED)
"""
FORGET_DELIVERED = FORGET.format(state="delivered", since="settled_at")
FORGET_DEAD = FORGET.format(state="dead", since="settled_at")
FORGET_UNTOLD = FORGET.format(state="pending", since="next_at")
AGAIN = """
UPDATE approvals_notice n SET state = 'pending', next_at = it.now, give_up_at = it.now + interval '1 day', failures = 0,
        settled_at = NULL
    FROM (SELECT liyagent_now() AS now OFFSET 0) AS it WHERE n.id = %s
"""


class NoticeNotFound(NotFound):
    """There is no notice with this number."""

    code = "notice.not_found"


def list_notices(*, state: str = "", limit: int = MOST_LISTED) -> list[Notice]:
    """Return the newest notices, of a state or of all. Raises `BadInput`."""
    if state and state not in NoticeState.values:
        raise BadInput(
            f"{state[:80]!r} is no state of a notice; it wants one of {', '.join(NoticeState.values)}"
        )
    if not 1 <= limit <= MOST_LISTED:
        raise BadInput(f"limit is {limit}; it wants 1 to {MOST_LISTED}")
    found = Notice.objects.filter(state=state) if state else Notice.objects.all()
    return list(found.select_related("approval").defer("approval__sealed").order_by("-id")[:limit])


def send_again(*, notice_id: int, actor: str) -> Notice:
    """Let a notice be due now, with the id it had, and a day to be told in. Raises `NoticeNotFound`.

    One that is just being sent is not sent beside it: its claim stands.
    """
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(AGAIN, [notice_id])
            if cursor.rowcount == 0:
                raise NoticeNotFound(
                    f"there is no notice {notice_id}; delivered ones go after a week"
                )
        notice = Notice.objects.select_related("approval").get(id=notice_id)
        approval = notice.approval
        record(
            "agent.approval.told_again",
            actor=actor,
            mission=approval.mission,
            correlation_id=approval.correlation_id,
            run_id=approval.run_id,
            detail={"approval": str(approval.id), "notice": notice.id, "kind": notice.kind},
        )
    return notice


def forget_old(*, limit: int = 500) -> int:
    """Forget at most `limit` each of those delivered a week ago and given up a month ago; return how many.

    Where no address is set, what nobody was told of in a day is forgotten too.
    """
    due = [(FORGET_DELIVERED, DELIVERED_DAYS), (FORGET_DEAD, DEAD_DAYS)]
    if not settings.LIYAGENT.approval_webhook_url:
        due.append((FORGET_UNTOLD, UNTOLD_DAYS))
    with connection.cursor() as cursor:
        count = 0
        for statement, days in due:
            cursor.execute(statement, [days, limit])
            count += cursor.rowcount
    return count
