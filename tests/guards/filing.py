"""The guards of who files a call and goes to sleep, and of the same call that came to be in doubt meanwhile."""

from __future__ import annotations

from tests.guards.guard import Guard

APPROVE = "runs/sql/approve.sql"
FENCES = "tests/unit/runs/test_fences.py::"
RESERVED = "tests/unit/approvals/test_reserve.py::"
STRAGGLER = f"{FENCES}test_an_attempt_writes_nothing_after_its_own_holder_took_the_run_again"
CLAIMED = f"{FENCES}test_a_claimed_attempt_writes_nothing"
FENCE = "        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1\n"
AFTER = {
    "hold": "        RETURNING r.* INTO v;\n    IF FOUND THEN\n        UPDATE approvals_approval a SET status = 'stale'",
    "sleep": "        RETURNING r.* INTO v;\n    IF FOUND THEN\n        PERFORM liyagent_flush_events(",
}


def _fence(what: str, name: str, half: str, test: str) -> Guard:
    """Half of the fence of who files a call, or goes to sleep."""
    search = FENCE + AFTER[what]
    return Guard(
        name=f"{what}: its fence, {name}",
        file=APPROVE,
        search=search,
        replace=search.replace(half, ""),
        tests=(test,),
    )


FILING: tuple[Guard, ...] = (
    _fence("hold", "attempt", "r.attempt = p_attempt AND ", STRAGGLER),
    _fence("hold", "running", "r.status = 'running' AND ", CLAIMED),
    _fence("sleep", "attempt", "r.attempt = p_attempt AND ", STRAGGLER),
    _fence("sleep", "running", "r.status = 'running' AND ", CLAIMED),
    Guard(
        name="hold: no call that was sent or settled",
        file=APPROVE,
        search="                WHERE runs_call.fate = '' AND runs_call.intent = 'held';\n",
        replace=";\n",
        tests=(f"{FENCES}test_a_call_that_was_sent_or_settled_is_not_held",),
    ),
    Guard(
        name="hold: once, also where its run goes on",
        file="runs/resume.py",
        search="    if row.fate:\n",
        replace="    if row.fate and row.fate != 'held':\n",
        tests=(
            "tests/unit/approvals/test_held_in_doubt.py::test_a_run_that_goes_on_and_dies_as_it_files_has_one_request_and_tells_its_id",
        ),
    ),
    Guard(
        name="hold: by its mark, and never by today's verdict",
        file="runs/in_doubt.py",
        search="    if mark is Mark.HELD:\n",
        replace="    if mark is Mark.HELD and not gates_allow:\n",
        tests=(
            "tests/unit/approvals/test_held_in_doubt.py::test_what_was_held_is_not_made_because_nothing_would_hold_it_by_now",
        ),
    ),
    Guard(
        name="approval: the same call in doubt since",
        file="runs/dispatch.py",
        search="    why = why or _in_doubt_since(scope, approval, row)\n",
        replace="",
        tests=(
            "tests/unit/approvals/test_same_intent.py::test_what_was_approved_before_the_same_call_became_unknown_is_asked_anew_and_names_it",
        ),
    ),
    Guard(
        name="hold: no call that was sent beside one of the same intent",
        file="runs/scope.py",
        search="            if was_open:\n",
        replace="            if False:\n",
        tests=(
            "tests/unit/runs/carrying/test_resends.py::test_a_write_in_doubt_is_not_sent_again_beside_one_of_the_same_intent_that_nobody_knows_of",
        ),
    ),
    Guard(
        name="approval: the permission that its tool names",
        file="liyagent/approvals/digests.py",
        search='        "permission": call.contract.permission if call.contract else "",\n',
        replace='        "permission": "",\n',
        tests=(
            "tests/unit/approvals/test_dispatch.py::test_a_permission_that_its_tool_names_since_is_more_than_was_approved",
        ),
    ),
    Guard(
        name="reserve: its key's window counts from here",
        file=APPROVE,
        search="holder = v.holder, marked_at = v_now,\n                deadline = v_deadline, key",
        replace="holder = v.holder,\n                deadline = v_deadline, key",
        tests=(f"{RESERVED}test_an_approval_is_consumed_in_the_commit_that_marks_the_call",),
    ),
    Guard(
        name="handed down: in the time of its approval",
        file="runs/sql/delegate.sql",
        search="AND a.status = 'approved' AND a.expires_at > v_now;",
        replace="AND a.status = 'approved';",
        tests=(f"{RESERVED}test_work_is_not_handed_down_on_an_approval_that_no_longer_stands",),
    ),
    Guard(
        name="handed down: what is approved",
        file="runs/sql/delegate.sql",
        search="AND a.status = 'approved' AND a.expires_at > v_now;",
        replace="AND a.expires_at > v_now;",
        tests=(f"{RESERVED}test_work_is_not_handed_down_on_an_approval_that_no_longer_stands",),
    ),
    Guard(
        name="handed down: the work that was approved",
        file="runs/sql/delegate.sql",
        search="                AND c.approval_id = p_approval AND c.step_key = p_step_key;\n",
        replace=";\n",
        tests=(f"{RESERVED}test_an_approval_hands_down_no_other_work",),
    ),
    Guard(
        name="a mark made again keeps its bytes, its key and its first time",
        file="runs/sql/step.sql",
        search="deadline = EXCLUDED.deadline\n                WHERE runs_call.fate = '';",
        replace="deadline = EXCLUDED.deadline, sealed = EXCLUDED.sealed, step_key = EXCLUDED.step_key\n"
        "                WHERE runs_call.fate = '';",
        tests=(
            "tests/unit/runs/test_marks.py::test_a_resumed_attempt_marks_again_under_its_own_holder_and_keeps_bytes_key_and_first_time",
        ),
    ),
)
