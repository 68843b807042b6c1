"""Why a call or a trigger was refused, each with its code."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from liyagent.core.errors import BadInput, Conflict, LiyagentError, NotFound


class TriggerUnknown(NotFound):
    """There is no such trigger."""

    code = "webhooks.trigger_not_found"


class TriggerDisabled(LiyagentError):
    """This trigger is switched off."""

    code = "webhooks.trigger_disabled"
    http_status = HTTPStatus.FORBIDDEN


class TriggerTaken(Conflict):
    """Another trigger was saved under this key meanwhile."""

    code = "webhooks.trigger_taken"


class TriggerInvalid(BadInput):
    """The trigger has fields that cannot be used."""

    code = "webhooks.trigger_invalid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        """`problems`: of each wrong field, what is wrong with it."""
        self.errors = [{"field": name, "detail": said} for name, said in problems.items()]
        super().__init__("; ".join(f"{name} {said}" for name, said in problems.items()))


class PayloadMisfit(LiyagentError):
    """The payload is not what the trigger's mapping is made for; nothing was kept, and it may be sent again."""

    code = "webhooks.payload_misfit"
    http_status = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, field: str, said: str) -> None:
        """`field`: which part of the trigger does not fit."""
        self.errors = [{"field": field, "detail": said}]
        super().__init__(f"{field}: {said}")


class SecretsAway(LiyagentError):
    """None of the trigger's secrets is set in this process."""

    code = "webhooks.secrets_away"
    http_status = HTTPStatus.SERVICE_UNAVAILABLE
