"""The guards of tasks of other agents: one task a message, one end, nobody's but their caller's, nothing untold."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/entry/a2a/"
MOVES_SQL = f"{ROOM}migrations/0002_tasks_move_with_their_runs.py"
RECEIVE, PUSH = f"{ROOM}receive.py", f"{ROOM}push.py"
TESTS = "tests/unit/entry/a2a/"
CONTEXTS, MOVES = f"{TESTS}test_contexts.py::", f"{TESTS}test_moves.py::"
PROTOCOL, PUSHES, CANCELS = (f"{TESTS}test_{it}.py::" for it in ("protocol", "push", "cancel"))

A2A: tuple[Guard, ...] = (
    Guard(
        name="a message id is of one message",
        file=RECEIVE,
        search="    if arrival.body_digest != message.digest:\n",
        replace="    if False:\n",
        tests=(f"{CONTEXTS}test_a_message_id_is_of_one_message",),
    ),
    Guard(
        name="a task is its caller's",
        file=f"{ROOM}find.py",
        search=" or not (asked.caller.sees_all or task.owner == asked.caller.username)",
        replace="",
        tests=(f"{PROTOCOL}test_a_task_of_somebody_else_is_not_found_by_any_method",),
    ),
    Guard(
        name="a context is its caller's",
        file=f"{ROOM}history.py",
        search="        owner=asked.caller.username,\n",
        replace="",
        tests=(f"{CONTEXTS}test_a_context_is_one_callers_alone",),
    ),
    Guard(
        name="an ended task never moves",
        file=MOVES_SQL,
        search="WHERE run_id = p_task AND ended_at IS NULL FOR",
        replace="WHERE run_id = p_task FOR",
        tests=(f"{MOVES}test_an_ended_task_never_moves_whatever_becomes_of_its_run",),
    ),
    Guard(
        name="two commits that move a task look one after the other",
        file=MOVES_SQL,
        search=" AND ended_at IS NULL FOR NO KEY UPDATE;",
        replace=" AND ended_at IS NULL;",
        tests=(f"{MOVES}test_a_run_that_goes_to_sleep_while_one_below_it_asks_is_seen_to_wait",),
    ),
    Guard(
        name="what is masked is kept masked",
        file=RECEIVE,
        search='    return [{"text": masked}] if acted else message.parts\n',
        replace="    return message.parts\n",
        tests=(f"{CONTEXTS}test_what_guardrails_mask_is_kept_masked",),
    ),
    Guard(
        name="a burst is refused before anything is kept",
        file=RECEIVE,
        search="        _check_burst(asked.caller.username)\n",
        replace="",
        tests=(f"{PROTOCOL}test_a_burst_is_met_with_429_before_anything_is_kept",),
    ),
    Guard(
        name="who asks late to be told misses nothing",
        file=PUSH,
        search="        if task.state in SETTLED:\n",
        replace="        if False:\n",
        tests=(f"{PUSHES}test_who_asks_to_be_told_when_it_has_ended_is_told_at_once",),
    ),
    Guard(
        name="what is owed to a configuration goes with it",
        file=PUSH,
        search="                cursor.execute(UNOWED, [task.run_id, str(config.id)])\n",
        replace="                pass\n",
        tests=(f"{PUSHES}test_what_is_owed_to_a_configuration_goes_with_it",),
    ),
    Guard(
        name="a canceled task is canceled once",
        file=f"{ROOM}cancel.py",
        search="    if task.state == State.CANCELED:\n        return task\n",
        replace="",
        tests=(f"{CANCELS}test_a_task_that_nobody_carries_yet_is_canceled_before_its_first_step",),
    ),
    Guard(
        name="a mission that does not fit is dropped",
        file=f"{ROOM}caller.py",
        search="clean_mission(it.get(MISSION))",
        replace="it.get(MISSION)",
        tests=(f"{CONTEXTS}test_the_header_goes_first_then_meta_then_metadata",),
    ),
)
