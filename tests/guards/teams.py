"""The guards of Teams: who is let in, one reply, who decides by a card."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/entry/teams/"
TESTS = "tests/unit/entry/teams/"
TOKENS, REPLIES, BUTTONS = f"{TESTS}test_tokens.py::", f"{TESTS}test_replies.py::", f"{TESTS}test_buttons.py::"  # fmt: skip
WRONG_TOKEN = f"{TOKENS}test_a_token_that_is_wrong_in_any_part_is_refused_and_starts_nothing"

TEAMS: tuple[Guard, ...] = (
    Guard(
        name="a token is for a bot of ours",
        file=f"{ROOM}tokens.py",
        search=".filter(app_id=app_id.lower()).first()",
        replace=".first()",
        tests=(WRONG_TOKEN,),
    ),
    Guard(
        name="a token is given out by the channel",
        file=f"{ROOM}tokens.py",
        search="            issuer=bot.issuer,\n",
        replace="",
        tests=(WRONG_TOKEN,),
    ),
    Guard(
        name="a token lapses",
        file=f"{ROOM}tokens.py",
        search="    if until < at - LEEWAY_SECONDS:",
        replace="    if until < 0:",
        tests=(WRONG_TOKEN,),
    ),
    Guard(
        name="a token is signed by RS256 alone",
        file=f"{ROOM}tokens.py",
        search='ALGORITHMS = ["RS256"]',
        replace='ALGORITHMS = ["RS256", "RS512"]',
        tests=(WRONG_TOKEN,),
    ),
    Guard(
        name="a token is for the service that the activity names",
        file=f"{ROOM}receive.py",
        search='    if activity.service_url.rstrip("/") != vouched.service_url.rstrip("/"):\n        raise ServiceForbidden\n',
        replace="",
        tests=(f"{TOKENS}test_another_service_address_than_the_tokens_is_refused",),
    ),
    Guard(
        name="a key vouches for its channels alone",
        file=f"{ROOM}receive.py",
        search=" or activity.channel not in vouched.endorsements",
        replace="",
        tests=(f"{TOKENS}test_a_key_that_vouches_for_another_channel_is_refused",),
    ),
    Guard(
        name="a bot serves its tenant alone",
        file=f"{ROOM}receive.py",
        search="    if activity.tenant != bot.tenant:",
        replace="    if activity.tenant not in {'', bot.tenant, activity.tenant}:",
        tests=(f"{TOKENS}test_another_tenant_than_the_bots_is_refused",),
    ),
    Guard(
        name="keys are asked for once a minute",
        file=f"{ROOM}keys.py",
        search="now - self._tried_at < BETWEEN_SECONDS",
        replace="now - self._tried_at < 0",
        tests=(f"{TOKENS}test_a_storm_of_unknown_keys_asks_the_channel_once_a_minute",),
    ),
    Guard(
        name="more than so many open turns of a bot are not taken on",
        file=f"{ROOM}receive.py",
        search="    _refuse_burst(bot)\n",
        replace="",
        tests=(
            f"{TESTS}test_receiving.py::test_a_burst_is_told_to_come_again_and_keeps_what_was_accepted",
        ),
    ),
    Guard(
        name="the first placeholder is the one that the answer updates",
        file=f"{ROOM}deliver.py",
        search=" AND reply = ''",
        replace="",
        tests=(f"{REPLIES}test_two_that_post_a_placeholder_at_once_put_the_answer_in_the_same",),
    ),
    Guard(
        name="a placeholder that is known is not posted again",
        file=f"{ROOM}deliver.py",
        search="    if turn.reply:\n        return Sent(vendor_id=turn.reply)\n",
        replace="",
        tests=(f"{REPLIES}test_a_placeholder_that_is_known_is_not_posted_again",),
    ),
    Guard(
        name="a request is decided where it was asked",
        file=f"{ROOM}invoke.py",
        search=" or base_of(turn.conversation) != base_of(activity.conversation)",
        replace="",
        tests=(
            f"{BUTTONS}test_a_request_is_decided_in_the_conversation_that_it_was_asked_in_alone",
        ),
    ),
    Guard(
        name="a button decides for those who may alone",
        file=f"{ROOM}invoke.py",
        search=" and user.has_perm(DECIDE)",
        replace="",
        tests=(f"{BUTTONS}test_a_user_who_may_not_decide_does_not_by_a_button_either",),
    ),
    Guard(
        name="what is decided by a card is shown whole",
        file=f"{ROOM}cards.py",
        search="    if len(lines) > MOST_LINES or",
        replace="    if len(lines) < 0 and",
        tests=(f"{BUTTONS}test_a_call_too_long_to_be_shown_whole_is_not_decided_here",),
    ),
    Guard(
        name="others are named by who keeps users alone",
        file="liyagent/entry/whom.py",
        search="    if name != saver.username and not saver.may_name_others:",
        replace="    if name != saver.username and not name:",
        tests=(
            f"{TESTS}test_bots.py::test_nobody_gives_a_bot_another_persons_rights_without_keeping_users",
        ),
    ),
)
