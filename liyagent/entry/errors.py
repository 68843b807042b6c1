"""Why an arrival became no run, and who may be named to start one."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import Conflict, LiyagentError


class ArrivalRefused(Conflict):
    """It was received and kept, and nothing was started."""

    code = "arrival.refused"


class MayNotName(LiyagentError):
    """You may name yourself alone; naming somebody else needs auth.change_user."""

    code = "entry.may_not_name"
    http_status = HTTPStatus.FORBIDDEN
