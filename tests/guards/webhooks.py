"""The guards of webhooks: who is let in, one run a delivery, what is kept of what."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/entry/webhooks/"
TESTS = "tests/unit/entry/webhooks/"
SIGNATURES, RECEIVING, TRIGGERS = f"{TESTS}test_signatures.py::", f"{TESTS}test_receiving.py::", f"{TESTS}test_triggers.py::"  # fmt: skip

WEBHOOKS: tuple[Guard, ...] = (
    Guard(
        name="a call is signed with a secret of its trigger",
        file=f"{ROOM}verify.py",
        search="    if not is_shaped or not is_signed(",
        replace="    if not is_shaped or is_signed(",
        tests=(f"{SIGNATURES}test_any_secret_of_the_trigger_and_any_signature_of_several_lets_in",),
    ),
    Guard(
        name="a call counts for five minutes",
        file=f"{ROOM}verify.py",
        search=" > WINDOW_SECONDS:",
        replace=" < 0:",
        tests=(f"{SIGNATURES}test_a_call_counts_for_five_minutes_by_the_databases_clock",),
    ),
    Guard(
        name="the body is what was signed",
        file="liyagent/core/webhook_signing.py",
        search="timestamp.encode(), body))",
        replace="timestamp.encode(), body.rstrip()))",
        tests=(f"{SIGNATURES}test_a_body_that_was_changed_is_refused",),
    ),
    Guard(
        name="an HMAC is made by a secret of the trigger",
        file=f"{ROOM}verify.py",
        search=" or not is_made_by_one:",
        replace=":",
        tests=(f"{SIGNATURES}test_what_no_secret_made_is_refused",),
    ),
    Guard(
        name="bad signatures are counted by address",
        file=f"{ROOM}api.py",
        search="            if seconds:\n",
        replace="            if seconds < 0:\n",
        tests=(
            f"{SIGNATURES}test_too_many_bad_ones_from_an_address_are_told_to_wait_and_good_ones_are_not",
        ),
    ),
    Guard(
        name="a delivery is known before its body is looked at",
        file=f"{ROOM}receive.py",
        search="    if not fitting.delivery_id:\n",
        replace="    if fitting.delivery_id is None:\n",
        tests=(f"{RECEIVING}test_a_delivery_that_comes_again_is_the_same_run_whatever_its_body",),
    ),
    Guard(
        name="what was refused is refused at each repeat",
        file=f"{ROOM}receive.py",
        search="    check_begun(arrival)\n",
        replace="",
        tests=(
            f"{RECEIVING}test_an_agent_that_may_not_start_it_answers_why_and_the_same_at_each_repeat",
        ),
    ),
    Guard(
        name="more than so many a minute are not taken on",
        file=f"{ROOM}receive.py",
        search="    _refuse_burst(trigger)\n",
        replace="",
        tests=(f"{RECEIVING}test_a_burst_is_told_when_to_come_again_and_keeps_what_was_accepted",),
    ),
    Guard(
        name="what does not fit is told in the audit log once a minute",
        file=f"{ROOM}receive.py",
        search="        if row is not None and row[0]:",
        replace="        if row is not None:",
        tests=(
            f"{RECEIVING}test_a_payload_that_does_not_fit_is_told_and_may_come_again_once_the_mapping_is_mended",
        ),
    ),
    Guard(
        name="a body has 256 KiB at most",
        file=f"{ROOM}api.py",
        search="        if len(http.body) > MOST_BYTES:",
        replace="        if len(http.body) < 0:",
        tests=(f"{RECEIVING}test_more_than_256_kib_and_other_types_are_refused",),
    ),
    Guard(
        name="a mapping is tried before it is kept",
        file=f"{ROOM}triggers.py",
        search="    _check_sample(trigger, values, given, is_new=found is None)\n",
        replace="",
        tests=(f"{TRIGGERS}test_a_mapping_that_does_not_fit_its_sample_is_not_saved",),
    ),
    Guard(
        name="the way of a trigger stays",
        file=f"{ROOM}triggers.py",
        search='    elif values.get("kind", trigger.kind) != trigger.kind:',
        replace='    elif values.get("kind", trigger.kind) == "":',
        tests=(f"{TRIGGERS}test_the_way_of_a_trigger_stays",),
    ),
    Guard(
        name="what names a delivery reads the payload",
        file=f"{ROOM}fields.py",
        search=" and PLACEHOLDER.search(value))",
        replace=")",
        tests=(f"{TRIGGERS}test_what_cannot_be_kept_is_told_by_field",),
    ),
    Guard(
        name="a condition makes nothing larger than what it is given",
        file="liyagent/core/conditions.py",
        search="            _check(node)\n",
        replace="            pass\n",
        tests=(
            "tests/unit/core/test_conditions.py::test_what_makes_more_than_it_was_given_is_refused",
        ),
    ),
    Guard(
        name="a caller that has hung up is not heard",
        file="liyagent/core/hang_ups.py",
        search="            if is_whole:",
        replace="            if is_whole and False:",
        tests=(
            "tests/unit/core/test_hang_ups.py::test_whoever_is_gone_after_the_last_byte_is_not_missed",
        ),
    ),
)
