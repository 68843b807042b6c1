"""The guards of what is held true of tools, and of servers that ask something of us."""

from __future__ import annotations

from tests.guards.guard import Guard

CARRYING = "tests/unit/runs/carrying/"
TOOL_GUARDS = (
    Guard(
        name="only what was shown of a tool is approved",
        file="liyagent/gateway/approve.py",
        search="        if row.fingerprint != shown:\n",
        replace="        if False:\n",
        tests=(
            "tests/unit/gateway/test_diff.py::test_only_the_fingerprint_that_was_shown_is_approved",
        ),
    ),
    Guard(
        name="a server with a write in doubt is not removed",
        file="liyagent/gateway/servers.py",
        search="[need.blocks for need in needs if need.blocks]",
        replace="[]",
        tests=(
            f"{CARRYING}test_removed_servers.py::test_a_server_with_a_write_in_doubt_is_not_removed_and_the_run_is_named",
        ),
    ),
    Guard(
        name="a server that asks in the middle of a call over HTTP is answered",
        file="liyagent/gateway/exchange.py",
        search="        asked(message)\n",
        replace="",
        tests=(
            "tests/unit/gateway/test_asked.py::test_a_server_that_asks_in_the_middle_of_a_call_over_http_is_answered",
        ),
    ),
    Guard(
        name="a vendor's facts are proposed only where the tool passes the field on",
        file="liyagent/gateway/proposals.py",
        search="if fact.key.field not in _properties(tool):",
        replace="if False:",
        tests=(
            "tests/unit/gateway/test_report.py::test_a_vendor_named_its_facts_are_proposed_where_the_tool_passes_the_field_on",
        ),
    ),
    Guard(
        name="the mark is asked before a byte leaves by stdio",
        file="liyagent/gateway/stdio.py",
        search="            exchange.before_bytes()\n",
        replace="            pass\n",
        tests=(
            "tests/unit/gateway/test_stdio.py::test_not_one_byte_of_a_call_leaves_once_its_mark_has_lapsed",
        ),
    ),
    Guard(
        name="a command gets of our environment what is named",
        file="liyagent/gateway/stdio_child.py",
        search="            env=environment,\n",
        replace="            env={**os.environ, **environment},\n",
        tests=(
            "tests/unit/gateway/test_stdio.py::test_of_our_environment_a_command_gets_what_its_registration_names",
        ),
    ),
    Guard(
        name="many calls fetch one token",
        file="liyagent/gateway/oauth.py",
        search="        async with self._locks.setdefault(credentials, anyio.Lock()):\n",
        replace="        if True:\n",
        tests=("tests/unit/gateway/test_oauth.py::test_many_calls_at_once_fetch_one_token",),
    ),
    Guard(
        name="a late refusal forgets the token that was refused alone",
        file="liyagent/gateway/oauth.py",
        search="if kept is not None and kept.value == token:",
        replace="if kept is not None:",
        tests=(
            "tests/unit/gateway/test_oauth.py::test_a_late_refusal_of_a_token_leaves_the_one_that_was_fetched_since",
        ),
    ),
    Guard(
        name="rights are those of the configuration version",
        file="liyagent/gateway/run_as.py",
        search="_known.at(version).of(principal)",
        replace="_known.at(1).of(principal)",
        tests=(
            "tests/unit/gateway/test_run_as.py::test_a_right_taken_away_in_whatever_way_is_gone_with_the_next_version",
        ),
    ),
    Guard(
        name="what leaves is what the gates left",
        file="liyagent/gateway/call.py",
        search="    payload = prepare(verdict.call, scope.step_key(verdict.call))\n",
        replace="    payload = prepare(call, scope.step_key(call))\n",
        tests=(
            "tests/unit/gateway/test_data_policy.py::test_what_is_masked_is_keyed_marked_and_sent",
        ),
    ),
)
