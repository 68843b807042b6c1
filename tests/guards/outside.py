"""The guards of who may ask for what, and of what is told to whom."""

from __future__ import annotations

from tests.guards.guard import Guard

PERMISSIONS, SCOPE = "liyagent/access/permissions.py", "liyagent/entry/inspector/scope.py"
KEYS = "tests/flows/test_api_keys.py::"
STREAM = "tests/flows/test_stream.py::"
BY_HAND = "tests/flows/test_call_a_tool.py::"
HOLDS = "    return bool(request.user.has_perm(permission)) and covers(scopes_of(request), permission)\n"

OUTSIDE: tuple[Guard, ...] = (
    Guard(
        name="a key may no more than its scopes",
        file=PERMISSIONS,
        search=HOLDS,
        replace="    return bool(request.user.has_perm(permission))\n",
        tests=(f"{KEYS}test_a_key_may_what_its_scopes_and_its_user_both_may",),
    ),
    Guard(
        name="a key may no more than its user",
        file=PERMISSIONS,
        search=HOLDS,
        replace="    return covers(scopes_of(request), permission)\n",
        tests=(f"{KEYS}test_a_key_may_what_its_scopes_and_its_user_both_may",),
    ),
    Guard(
        name="a login is counted before its password is looked at",
        file="liyagent/access/attempts.py",
        search="    return math.ceil(max(waits))\n",
        replace="    return 0\n",
        tests=(
            "tests/unit/access/test_attempts.py::test_of_many_at_once_no_more_than_the_limit_are_tried",
        ),
    ),
    Guard(
        name="words in a stream are for who may read them",
        file="runs/stream.py",
        search="inner = content if with_words else",
        replace="inner = content if True else",
        tests=(f"{STREAM}test_words_are_for_those_who_may_read_them",),
    ),
    Guard(
        name="a right to words is asked for again while a stream lasts",
        file="runs/stream_api.py",
        search="with_words=now is not None and may_read_words(now)",
        replace="with_words=may_read_words(request)",
        tests=(f"{STREAM}test_a_right_to_words_that_is_taken_away_withholds_what_comes_after",),
    ),
    Guard(
        name="a call by hand that writes needs a permission more",
        file="liyagent/entry/inspector/call.py",
        search="if contract.effect is not Effect.READ and not caller.may_write:",
        replace="if False:",
        tests=(f"{BY_HAND}test_a_write_needs_a_permission_more_than_a_read",),
    ),
    Guard(
        name="a call by hand is in the audit log before it leaves",
        file=SCOPE,
        search='        self._record(verdict, phase="sending")\n',
        replace="",
        tests=(f"{BY_HAND}test_a_write_is_in_the_audit_log_before_it_leaves_and_after",),
    ),
    Guard(
        name="a call by hand is judged by what stands when it is marked",
        file=SCOPE,
        search="        if now != self.version:\n",
        replace="        if False:\n",
        tests=(f"{BY_HAND}test_what_is_forbidden_while_it_is_marked_is_not_sent",),
    ),
    Guard(
        name="a call by hand may leave for a lease and no longer",
        file=SCOPE,
        search="        return lambda: boottime() < deadline\n",
        replace="        return lambda: True\n",
        tests=(f"{BY_HAND}test_once_marked_it_may_leave_for_a_lease_and_no_longer",),
    ),
    Guard(
        name="no page may run a script that stands in it",
        file="liyagent/core/headers.py",
        search="\"'self' 'unsafe-eval'\"",
        replace="\"'self' 'unsafe-eval' 'unsafe-inline'\"",
        tests=("tests/flows/test_headers.py::test_only_the_console_may_make_functions_of_text",),
    ),
    Guard(
        name="a tool server is asked over a connection that is not long idle",
        file="liyagent/core/outbound.py",
        search="keepalive_expiry=TOOLS_IDLE_SECONDS",
        replace="keepalive_expiry=LIMITS.keepalive_expiry",
        tests=(
            "tests/unit/core/test_outbound.py::test_a_tool_server_is_asked_over_no_connection_that_it_may_just_be_closing",
        ),
    ),
)
