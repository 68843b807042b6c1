"""The guards of claims: after a grace, by lapse and by hint; and of failovers."""

from __future__ import annotations

from tests.guards.guard import Guard

CLAIM = "runs/sql/claim.sql"
TAKES = "tests/unit/runs/test_take_and_claim.py::"
HINTS = "tests/unit/runs/test_hint.py::"
FAILOVER = "tests/unit/runs/carrying/test_failover.py::"

TAKING_OVER: tuple[Guard, ...] = (
    Guard(
        name="grace after a reconnect",
        file=CLAIM,
        search="GREATEST(backend_start, pg_postmaster_start_time())",
        replace="pg_postmaster_start_time()",
        tests=(
            f"{TAKES}test_nothing_is_claimed_for_lapse_until_one_grace_after_the_sweeper_s_reconnect",
        ),
    ),
    Guard(
        name="hint: the lease has passed",
        file=CLAIM,
        search="AND h.life_lock = p_life_lock\n        AND h.renew_by < liyagent_now() FOR",
        replace="AND h.life_lock = p_life_lock\n        FOR",
        tests=(f"{HINTS}test_a_free_lock_before_the_end_of_the_lease_claims_nothing",),
    ),
    Guard(
        name="hint: the lock is free at the claim",
        file=CLAIM,
        search="IF NOT FOUND OR liyagent_is_locked(p_life_lock) THEN",
        replace="IF NOT FOUND THEN",
        tests=(f"{HINTS}test_a_lock_that_is_kept_claims_nothing_however_late_the_renewal",),
    ),
    Guard(
        name="hint: the lock that was seen free is the one still named",
        file=CLAIM,
        search="h.id = p_silent AND h.life_lock = p_life_lock",
        replace="h.id = p_silent",
        tests=(f"{HINTS}test_a_holder_that_took_a_lock_anew_between_two_looks_is_not_claimed",),
    ),
    Guard(
        name="hint: two looks",
        file="runs/hint.py",
        search="            if now - since >= LOOK_SECONDS:",
        replace="            if now >= since:",
        tests=(f"{HINTS}test_a_lock_free_in_two_looks_after_the_lease_claims_each_run_once",),
    ),
    Guard(
        name="hint: grace after a reconnect",
        file=CLAIM,
        search="    IF NOT liyagent_may_claim(p_grace_seconds) THEN RETURN; END IF;\n    PERFORM 1",
        replace="    PERFORM 1",
        tests=(
            f"{HINTS}test_nothing_is_claimed_by_hint_until_one_grace_after_the_watcher_s_reconnect",
        ),
    ),
    Guard(
        name="hint: no proof, so deadlines stay",
        file=CLAIM,
        search="liyagent_claim(v_runs, v_attempts, 'hint', NULL)",
        replace="liyagent_claim(v_runs, v_attempts, 'hint', p_silent)",
        tests=(
            f"{HINTS}test_a_hint_is_no_proof_so_the_marks_of_the_silent_holder_keep_their_deadlines",
        ),
    ),
    Guard(
        name="no life-lock behind a pooler",
        file="liyagent/leases/life_lock.py",
        search="not leads_to_its_server(connection) or ",
        replace="",
        tests=(f"{HINTS}test_a_holder_behind_a_pooler_keeps_no_lock_and_is_left_to_lapse",),
    ),
    Guard(
        name="failover: an unmarked write counts as marked",
        file="runs/resume.py",
        search="if row is None and counts_as_marked(",
        replace="if row is not None and counts_as_marked(",
        tests=(f"{FAILOVER}test_a_blind_write_whose_mark_was_lost_is_unknown_and_not_sent_again",),
    ),
    Guard(
        name="failover: the vendor's window counts from the run's beginning",
        file="runs/resume.py",
        search="scope.mark_sending(verdict, payload, made_after=checkpoint.run.created_at)",
        replace="scope.mark_sending(verdict, payload)",
        tests=(
            f"{FAILOVER}test_a_keyed_write_is_not_sent_again_where_the_run_is_older_than_the_vendor_s_window",
        ),
    ),
    Guard(
        name="failover: old senders run out first",
        file="runs/resume.py",
        search="    _let_old_senders_run_out(checkpoint)\n",
        replace="",
        tests=(f"{FAILOVER}test_a_readable_write_whose_mark_was_lost_is_looked_for_after_a_lease",),
    ),
    Guard(
        name="a missing holder has lapsed",
        file=CLAIM,
        search="FROM held LEFT JOIN leases_holder h ON h.id = held.holder",
        replace="FROM held JOIN leases_holder h ON h.id = held.holder",
        tests=(f"{TAKES}test_a_holder_without_a_row_has_lapsed",),
    ),
    Guard(
        name="a process never claims its own",
        file=CLAIM,
        search="WHERE held.holder IS DISTINCT FROM p_sweeper AND (h.id",
        replace="WHERE (h.id",
        tests=(f"{TAKES}test_a_process_never_claims_its_own_runs",),
    ),
    Guard(
        name="all that was taken is known as carried before the first thread starts",
        file="runs/runner.py",
        search="        waiting = deque(self._known(run_id, attempt) for run_id, attempt in found)\n",
        replace=(
            "        waiting = deque[Carried]()\n"
            "        for run_id, attempt in found:\n"
            "            self._start(self._known(run_id, attempt))\n"
        ),
        tests=(
            "tests/unit/runs/carrying/test_runner.py::test_of_many_runs_taken_at_once_none_is_lost_while_the_threads_of_others_start",
        ),
    ),
    Guard(
        name="who stalls inside a transaction lets go of what it locked",
        file="liyagent/core/database.py",
        search='        cursor.execute(f"SET idle_in_transaction_session_timeout = {milliseconds}")\n',
        replace='        cursor.execute(f"SELECT {milliseconds}")\n',
        tests=(
            "tests/unit/core/test_silent_servers.py::test_a_process_that_stalls_inside_a_transaction_loses_what_it_locked",
        ),
    ),
)
