"""The guards of hand-offs: of two that write a version one wins, and whatever was changed by hand shows wherever it is told of."""

from __future__ import annotations

from tests.guards.guard import Guard

JUDGE, READ, WRITTEN = "handoffs/judge.py", "handoffs/read_thread.py", "handoffs/written.py"
REVISE, SQL = "handoffs/revise.py", "handoffs/sql/handoff.sql"
FLOW = "tests/flows/test_handoffs.py::"
TAMPERED = "tests/flows/test_handoffs_tampered.py::"
AT_ONCE = "tests/unit/handoffs/test_at_once.py::"

HANDOFF_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a hand-off: a reading that somebody added by hand is told",
        file=JUDGE,
        search='    return "" if fits else NOT_OURS\n',
        replace='    return ""\n',
        tests=(f"{TAMPERED}test_a_reading_that_was_changed_or_added_by_hand_is_told",),
    ),
    Guard(
        name="a hand-off: what cannot be kept holds up nothing",
        file=SQL,
        search="        EXCEPTION WHEN OTHERS THEN\n",
        replace="        EXCEPTION WHEN query_canceled THEN\n",
        tests=(
            "tests/unit/runs/delegating/test_lost_hand_offs.py::test_a_delegation_goes_on_without_what_cannot_be_kept_of_it",
        ),
    ),
    Guard(
        name="a hand-off: a locked table is waited for a moment",
        file=SQL,
        search="            PERFORM set_config('lock_timeout', '1s', true);\n",
        replace="",
        tests=(
            "tests/unit/runs/delegating/test_lost_hand_offs.py::test_a_table_that_is_locked_is_waited_for_a_moment_only",
        ),
    ),
    Guard(
        name="a hand-off: a saga's digest is held against its thread",
        file="handoffs/named.py",
        search="    if version is None:\n        return OTHER\n",
        replace='    if version is None:\n        return ""\n',
        tests=(
            "tests/flows/test_handed_by_runs.py::test_a_saga_and_its_request_tell_that_what_was_handed_over_was_changed",
        ),
    ),
    Guard(
        name="a hand-off: what is stored is hashed again on each read",
        file=JUDGE,
        search='    return "" if content.digest() == digest else CHANGED\n',
        replace='    return ""\n',
        tests=(f"{TAMPERED}test_a_changed_row_is_not_verified",),
    ),
    Guard(
        name="a hand-off: the tag of a version is checked on each read",
        file=JUDGE,
        search="    if not fits:\n",
        replace="    if False:\n",
        tests=(
            f"{TAMPERED}test_a_changed_row_is_not_verified",
            f"{TAMPERED}test_a_version_that_was_added_by_hand_is_not_verified",
        ),
    ),
    Guard(
        name="a hand-off: a version stands behind the one that it replaced",
        file=JUDGE,
        search='    return "" if version.parent == (before or "") else OTHER_PARENT\n',
        replace='    return ""\n',
        tests=(f"{TAMPERED}test_a_changed_row_is_not_verified",),
    ),
    Guard(
        name="a hand-off: a version that was taken away is missed",
        file=READ,
        search="            *contradictions(thread, digests),\n",
        replace="",
        tests=(f"{TAMPERED}test_a_version_that_was_taken_away_is_missed",),
    ),
    Guard(
        name="a hand-off: a version that was read, and is gone, is missed without the audit log",
        file=WRITTEN,
        search='        *(_contradiction("read", *it, known) for it in _read(thread)),\n',
        replace="",
        tests=(f"{TAMPERED}test_what_was_read_and_is_gone_is_missed_without_the_audit_log",),
    ),
    Guard(
        name="a hand-off: only the newest version is revised",
        file=REVISE,
        search="        raise _stale(head, expected_version)\n",
        replace="        expected_version = head.number\n",
        tests=(f"{FLOW}test_only_the_newest_version_can_be_revised",),
    ),
    Guard(
        name="a hand-off: of two that write one version the second writes nothing",
        file=SQL,
        search="            p->>'mission', decode(p->>'tag', 'hex'))\n        ON CONFLICT DO NOTHING;\n    IF NOT FOUND THEN RETURN false; END IF;\n",
        replace="            p->>'mission', decode(p->>'tag', 'hex'));\n",
        tests=(
            f"{AT_ONCE}test_who_comes_second_is_told_the_head_and_leaves_nothing",
            f"{AT_ONCE}test_the_same_revise_sent_twice_at_once_is_one_version",
        ),
    ),
    Guard(
        name="a hand-off: a revise is the same version for who wrote it alone",
        file=REVISE,
        search="    is_ours = head.author == actor and ",
        replace="    is_ours = ",
        tests=(f"{FLOW}test_a_revise_whose_answer_was_lost_is_the_same_version",),
    ),
    Guard(
        name="a hand-off: nothing of a version that was changed goes into a new one",
        file=REVISE,
        search="    if flaw or content is None:\n",
        replace="    if content is None:\n",
        tests=(f"{TAMPERED}test_nothing_of_a_changed_version_goes_into_a_new_one",),
    ),
    Guard(
        name="a hand-off: a delegation is not revised before its answer came back",
        file=REVISE,
        search="    if before.kind == DELEGATION and head.number == 1:\n",
        replace="    if False:\n",
        tests=(f"{AT_ONCE}test_a_delegation_is_not_revised_before_its_answer_came_back",),
    ),
    Guard(
        name="a hand-off: a key that began another thread is refused",
        file="handoffs/open_thread.py",
        search="    if version.snapshot_id != content.digest():\n",
        replace="    if False:\n",
        tests=(f"{FLOW}test_the_same_key_opens_one_thread",),
    ),
    Guard(
        name="a hand-off: bodies are shown to who may read words alone",
        file="handoffs/shown.py",
        search="    if content is not None and not with_words:\n",
        replace="    if False:\n",
        tests=(f"{FLOW}test_who_may_not_read_words_sees_digests_and_facts",),
    ),
    Guard(
        name="a hand-off: a name that stands twice in a body is refused",
        file="handoffs/content.py",
        search="    if isinstance(value, NamedTwice):\n",
        replace="    if False:\n",
        tests=(
            "tests/unit/handoffs/test_content.py::test_what_no_value_shows_is_found_in_the_text",
        ),
    ),
)
