"""The guards of `/mcp`: a call is kept and found again, told to its caller alone, and nobody else gets in."""

from __future__ import annotations

from tests.guards.guard import Guard

HERE = "liyagent/entry/mcp_server/"
TESTS = "tests/unit/entry/mcp_server/"
CALLS, PROTOCOL, HANG_UPS, HOSTILE = (
    f"{TESTS}test_{it}.py::" for it in ("calls", "protocol", "hang_ups", "hostile_calls")
)

MCP_SERVER: tuple[Guard, ...] = (
    Guard(
        name="mcp: a call sent again with its key is the same",
        file=f"{HERE}receive.py",
        search="    return digest([asked.caller.username, key])\n",
        replace="    return str(uuid4())\n",
        tests=(
            f"{CALLS}test_a_call_sent_again_with_its_key_is_the_same_run_with_the_same_answer[auto-io.liyagent/step-key]",
        ),
    ),
    Guard(
        name="mcp: a key is its caller's own",
        file=f"{HERE}receive.py",
        search="digest([asked.caller.username, key])",
        replace="digest([key])",
        tests=(f"{CALLS}test_the_keys_of_two_callers_have_nothing_in_common",),
    ),
    Guard(
        name="mcp: a key that asked something else is refused",
        file=f"{HERE}receive.py",
        search="if not arrived.is_new and not",
        replace="if False and not",
        tests=(f"{CALLS}test_a_key_that_asked_something_else_before_is_refused",),
    ),
    Guard(
        name="mcp: a caller has so many open and no more",
        file=f"{HERE}receive.py",
        search="        _check_burst(asked.caller.username)\n",
        replace="",
        tests=(f"{CALLS}test_who_has_too_many_open_is_told_to_come_later_and_nothing_is_kept",),
    ),
    Guard(
        name="mcp: what is not open is no tool",
        file=f"{HERE}receive.py",
        search="filter(is_open, is_enabled=True)",
        replace="filter()",
        tests=(f"{PROTOCOL}test_what_is_not_open_cannot_be_called[shut]",),
    ),
    Guard(
        name="mcp: a mission is that of the message where the request names none",
        file=f"{HERE}asked.py",
        search='mission_named(self.stamp.mission, "", meta)',
        replace="self.stamp.mission",
        tests=(f"{PROTOCOL}test_a_call_names_its_mission_in_meta_or_by_the_requests_headers",),
    ),
    Guard(
        name="mcp: a run is told to its caller and who sees all",
        file=f"{HERE}answer.py",
        search="    if not (caller.sees_all or",
        replace="    if False and not (caller.sees_all or",
        tests=(f"{CALLS}test_a_run_is_told_to_who_asked_and_without_words_to_who_sees_all",),
    ),
    Guard(
        name="mcp: an answer is told to its caller and who reads words",
        file=f"{HERE}answer.py",
        search="if caller.reads_words or",
        replace="if caller.sees_all or",
        tests=(f"{CALLS}test_a_run_is_told_to_who_asked_and_without_words_to_who_sees_all",),
    ),
    Guard(
        name="mcp: who waited is judged anew",
        file=f"{HERE}endpoint.py",
        search="    if caller is None:\n        raise NotLetIn\n    return caller\n",
        replace="    return caller or asked.caller\n",
        tests=(f"{CALLS}test_a_key_that_is_revoked_meanwhile_is_told_nothing",),
    ),
    Guard(
        name="mcp: what may have been started is never told as refused",
        file=f"{HERE}endpoint.py",
        search=" or isinstance(error, NotLetIn):",
        replace=":",
        tests=(f"{CALLS}test_a_key_that_is_revoked_meanwhile_is_told_nothing",),
    ),
    Guard(
        name="mcp: a run that waits for a person is told at once",
        file=f"{HERE}wait.py",
        search="or (told.waits_for and not past_people)):",
        replace="or (told.waits_for and False)):",
        tests=(
            f"{CALLS}test_one_that_waits_for_a_person_says_so_at_once_and_is_answered_once_it_was_decided[auto]",
        ),
    ),
    Guard(
        name="mcp: a process that drains keeps nobody waiting",
        file=f"{HERE}wait.py",
        search="left <= 0 or STATE.is_draining",
        replace="left <= 0",
        tests=(f"{HANG_UPS}test_a_process_that_drains_answers_whoever_waits_with_how_to_go_on",),
    ),
    Guard(
        name="mcp: a database that is away keeps who waits waiting",
        file=f"{HERE}wait.py",
        search="    except AWAY:\n        return None\n",
        replace="    except AWAY:\n        raise\n",
        tests=(f"{CALLS}test_a_database_that_is_away_for_a_moment_ends_no_wait",),
    ),
    Guard(
        name="mcp: that a caller has gone is heard once its call has begun",
        file=f"{HERE}mount.py",
        search="        await handed.asked.begun.wait()\n",
        replace="",
        tests=(
            f"{HANG_UPS}test_a_run_is_started_though_its_caller_is_gone_with_the_last_byte[2026-07-28]",
        ),
    ),
    Guard(
        name="mcp: a host that is not ours is refused",
        file=f"{HERE}hosts.py",
        search="    if not _is_ours(host):\n",
        replace="    if not host:\n",
        tests=(
            f"{PROTOCOL}test_no_page_of_another_site_and_no_name_of_another_reaches_it[evil.example.com--421]",
        ),
    ),
    Guard(
        name="mcp: a page of another site is refused",
        file=f"{HERE}hosts.py",
        search="    if origin and not is_named",
        replace="    if False and not is_named",
        tests=(
            f"{PROTOCOL}test_no_page_of_another_site_and_no_name_of_another_reaches_it[127.0.0.1-null-403]",
        ),
    ),
    Guard(
        name="mcp: what no answer can bear the id of is no notification",
        file=f"{HERE}api.py",
        search="        if not _has_answerable_id(body):\n",
        replace="        if False and not _has_answerable_id(body):\n",
        tests=(
            f"{HOSTILE}test_a_call_whose_id_no_answer_can_bear_is_refused_and_not_taken_for_a_notification",
        ),
    ),
    Guard(
        name="mcp: what is no JSON, or takes no answer, is refused with a problem",
        file=f"{HERE}api.py",
        search="        _check_forms(request)\n",
        replace="",
        tests=(f"{HOSTILE}test_what_is_no_json_or_takes_no_answer_is_refused_with_a_problem",),
    ),
    Guard(
        name="mcp: a body in chunks has an end",
        file="liyagent/core/limits.py",
        search="        if len(body) > limit_bytes:\n",
        replace="        if len(body) > 100 * limit_bytes:\n",
        tests=(
            f"{HOSTILE}test_bodies_without_an_end_are_cut_and_those_that_were_cut_start_nothing",
        ),
    ),
)
