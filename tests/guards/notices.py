"""The guards of notices of approvals: one sending at a time, nothing untold, nothing told twice under two ids."""

from __future__ import annotations

from tests.guards.guard import Guard

DELIVER, NOTICE = "liyagent/approvals/deliver.py", "liyagent/approvals/notice.py"
OUTBOX = "liyagent/core/outbox.py"
NOTICES = "tests/unit/approvals/test_notices.py::"
OVERTAKEN = f"{NOTICES}test_a_deliverer_that_was_overtaken_marks_nothing"

NOTICE_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a notice that is claimed is nobody else's",
        file=OUTBOX,
        search="            AND (d.claimed_until IS NULL OR d.claimed_until <= liyagent_now(){also_free})\n",
        replace="",
        tests=(f"{NOTICES}test_of_two_deliverers_one_sends",),
    ),
    Guard(
        name="what a process claimed that is gone is due again at once",
        file=DELIVER,
        search="    also_free=CLAIMER_IS_GONE,\n",
        replace="",
        tests=(
            f"{NOTICES}test_what_a_process_claimed_that_is_known_to_be_gone_is_due_again_at_once",
        ),
    ),
    Guard(
        name="two claims at once are of two notices",
        file=OUTBOX,
        search=" FOR UPDATE SKIP LOCKED",
        replace="",
        tests=(f"{NOTICES}test_many_deliverers_at_once_send_each_notice_once",),
    ),
    Guard(
        name="who was overtaken does not mark a notice as told",
        file=OUTBOX,
        search="WHERE id = %s AND attempts = %s AND state",
        replace="WHERE id = %s AND attempts >= %s AND state",
        tests=(OVERTAKEN,),
    ),
    Guard(
        name="who was overtaken does not mark a notice as failed",
        file=OUTBOX,
        search="n.attempts = %s",
        replace="n.attempts >= %s",
        tests=(OVERTAKEN,),
    ),
    Guard(
        name="the earlier notice of a request comes first",
        file=OUTBOX,
        search="AND e.id < d.id",
        replace="AND e.id < 0",
        tests=(f"{NOTICES}test_the_later_waits_for_the_earlier_of_its_request_but_for_no_other",),
    ),
    Guard(
        name="no notice leaves when half of its lease is over",
        file=DELIVER,
        search="        self._check_time()\n        self._until",
        replace="        self._until",
        tests=(f"{NOTICES}test_what_has_not_left_in_half_a_lease_does_not_leave",),
    ),
    Guard(
        name="no notice leaves inside a transaction",
        file=DELIVER,
        search='    forbid_transaction("telling of approvals")\n',
        replace="",
        tests=(f"{NOTICES}test_nothing_is_sent_inside_a_transaction",),
    ),
    Guard(
        name="a reminder is filed once",
        file=NOTICE,
        search="SET remind_at = NULL",
        replace="SET remind_at = a.remind_at",
        tests=(f"{NOTICES}test_a_request_that_waits_is_told_of_once_more",),
    ),
    Guard(
        name="a notice has the words of its time",
        file=NOTICE,
        search='"status": notice.status',
        replace='"status": approval.status',
        tests=(f"{NOTICES}test_a_notice_has_the_words_of_its_time_however_late_it_is_sent",),
    ),
)
