"""Why a trigger was refused, each with its code."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.errors import BadInput, Conflict, NotFound


class TriggerInvalid(BadInput):
    """The trigger has fields that cannot be used."""

    code = "cron.trigger_invalid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        """`problems`: of each wrong field, what is wrong with it."""
        self.errors = [{"field": name, "detail": said} for name, said in problems.items()]
        super().__init__("; ".join(f"{name} {said}" for name, said in problems.items()))


class TriggerUnknown(NotFound):
    """There is no such cron trigger."""

    code = "cron.trigger_not_found"


class TriggerTaken(Conflict):
    """Somebody else made a trigger of this key at the same moment; look at it, and save again."""

    code = "cron.trigger_taken"
