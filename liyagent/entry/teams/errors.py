"""Why an activity, a bot or a person was refused, each with its code."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import BadInput, Conflict, LiyagentError, NotFound


class ActivityMisshapen(BadInput):
    """The body is no activity that can be used."""

    code = "teams.activity_bad"


class NothingSaid(ActivityMisshapen):
    """The message has no text for the bot."""

    code = "teams.nothing_said"


class InvokeUnknown(BadInput):
    """This bot has no such thing to invoke."""

    code = "teams.invoke_unknown"


class OtherBot(NotFound):
    """The activity is for a bot that is not set up here."""

    code = "teams.bot_unknown"


class BotDisabled(LiyagentError):
    """This bot is switched off."""

    code = "teams.bot_disabled"
    http_status = HTTPStatus.FORBIDDEN


class ChannelForbidden(LiyagentError):
    """The key that signed this token vouches for another channel, or the bot serves none but Teams."""

    code = "teams.channel_forbidden"
    http_status = HTTPStatus.FORBIDDEN


class ServiceForbidden(LiyagentError):
    """The token was given out for another service address than the activity names."""

    code = "teams.service_forbidden"
    http_status = HTTPStatus.FORBIDDEN


class TenantForbidden(LiyagentError):
    """The activity comes from another tenant than the bot's."""

    code = "teams.tenant_forbidden"
    http_status = HTTPStatus.FORBIDDEN


class KeysAway(LiyagentError):
    """The channel's signing keys cannot be had."""

    code = "teams.keys_away"
    http_status = HTTPStatus.SERVICE_UNAVAILABLE


class BotUnknown(NotFound):
    """There is no such bot."""

    code = "teams.bot_not_found"


class PersonUnknown(NotFound):
    """There is no such Teams person."""

    code = "teams.person_not_found"


class AppTaken(Conflict):
    """Another bot has this app id."""

    code = "teams.app_taken"
