"""The guards of tasks of other agents, and of asking them: one task a message, one end, nothing untold, nowhere else."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/entry/a2a/"
MOVES_SQL = f"{ROOM}migrations/0002_tasks_move_with_their_runs.py"
RECEIVE, PUSH = f"{ROOM}receive.py", f"{ROOM}push.py"
TESTS = "tests/unit/entry/a2a/"
CONTEXTS, MOVES = f"{TESTS}test_contexts.py::", f"{TESTS}test_moves.py::"
REMOTE, SYNCS = (f"tests/unit/gateway/test_a2a{it}.py::" for it in ("", "_sync"))
RUNS = "tests/unit/runs/carrying/test_remote_agents.py::"
CARD, WIRE, TOLD, AGENTS = (f"liyagent/gateway/a2a_{it}.py" for it in ("card", "wire", "told", "agents"))  # fmt: skip
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
        search="mission_named(None, None, *_looked_in(asked, metadata))",
        replace='next((str(it["io.liyagent/mission"]) for it in _looked_in(asked, metadata) if "io.liyagent/mission" in it), "")',
        tests=(f"{CONTEXTS}test_the_header_goes_first_then_meta_then_metadata",),
    ),
    Guard(
        name="a card leads nowhere but where it is",
        file=CARD,
        search="if _origin(it.url) == _origin(url)]",
        replace="if it.url]",
        tests=(f"{REMOTE}test_a_card_does_not_lead_anywhere_else",),
    ),
    Guard(
        name="an interface with a password in it is not ours",
        file=CARD,
        search='    return (parts.scheme, parts.hostname or "", port) if is_plain else ("", "", None)\n',
        replace='    return (parts.scheme, parts.hostname or "", port)\n',
        tests=(f"{REMOTE}test_a_card_does_not_lead_anywhere_else",),
    ),
    Guard(
        name="a message to a remote agent leaves by its exchange alone",
        file=WIRE,
        search="            await exchange.post(self._client, self._built(request, body, exchange.token))\n",
        replace="            return await self._send(request, body)\n",
        tests=(f"{REMOTE}test_not_one_byte_of_a_message_leaves_once_its_mark_has_lapsed",),
    ),
    Guard(
        name="a redirect of a remote agent is not followed",
        file="liyagent/gateway/exchange.py",
        search="follow_redirects=False)\n            try:\n                asked",
        replace="follow_redirects=True)\n            try:\n                asked",
        tests=(f"{REMOTE}test_a_redirect_is_not_followed_whatever_it_leads_to",),
    ),
    Guard(
        name="an answer of a remote agent is read to its limit",
        file=WIRE,
        search="read_body(answer, ANSWER_LIMIT_BYTES)",
        replace="read_body(answer, 1 << 40)",
        tests=(f"{REMOTE}test_an_answer_without_end_is_not_read_to_it",),
    ),
    Guard(
        name="an answer that nobody understands leaves a message in doubt",
        file=AGENTS,
        search='            return in_doubt("the answer cannot be understood", payload)\n',
        replace='            return failed("the answer cannot be understood", payload)\n',
        tests=(
            f"{REMOTE}test_a_message_that_was_acted_on_and_badly_answered_is_unknown_and_sent_once",
        ),
    ),
    Guard(
        name="what an agent's own answer says is no refusal of the message",
        file=TOLD,
        search="-32005, -32007",
        replace="-32005, -32006, -32007",
        tests=(
            f"{REMOTE}test_a_message_that_was_acted_on_and_badly_answered_is_unknown_and_sent_once",
        ),
    ),
    Guard(
        name="a task that failed is a failed call",
        file=TOLD,
        search='    if told["state"] in UNDONE:\n',
        replace="    if False:\n",
        tests=(
            f"{REMOTE}test_a_task_that_failed_or_was_rejected_has_failed_in_its_own_words",
            f"{RUNS}test_a_task_that_failed_is_a_failed_call",
        ),
    ),
    Guard(
        name="the step key is the message's id",
        file="liyagent/gateway/a2a_way.py",
        search="            message_id=payload.key,\n",
        replace='            message_id="m",\n',
        tests=(
            f"{RUNS}test_a_message_that_was_acted_on_and_badly_answered_is_found_by_its_key_and_sent_once",
        ),
    ),
    Guard(
        name="a remote agent is read back by the task of our key",
        file="liyagent/gateway/sync.py",
        search="{ASK: default_reader(key)} if can_list else {}",
        replace="{}",
        tests=(
            f"{SYNCS}test_a_card_is_three_tools_of_which_one_writes",
            f"{RUNS}test_a_message_that_was_acted_on_and_badly_answered_is_found_by_its_key_and_sent_once",
        ),
    ),
    Guard(
        name="only an agent is keyed by the id of a message",
        file="liyagent/gateway/models.py",
        search="        if self.key_place not in KEY_PLACES.get(self.server.transport, MCP_PLACES):\n",
        replace="        if False:\n",
        tests=(f"{SYNCS}test_a_tool_server_is_not_keyed_by_the_id_of_a_message",),
    ),
    Guard(
        name="a window of a place that is none there counts for nothing",
        file="liyagent/gateway/contracts.py",
        search="    return tool.key_window_seconds if is_placed else 0\n",
        replace="    return tool.key_window_seconds\n",
        tests=(f"{SYNCS}test_a_tool_server_is_not_keyed_by_the_id_of_a_message",),
    ),
    Guard(
        name="a remote agent's way is open before the mark",
        file="liyagent/gateway/wire.py",
        search="        a2a.open_way(address)\n",
        replace="        pass\n",
        tests=(f"{RUNS}test_the_card_is_read_before_the_mark",),
    ),
)
