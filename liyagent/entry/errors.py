"""Why an arrival became no run, what cannot be done with a delivery, and who may be named to start one."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import Conflict, LiyagentError, NotFound


class ArrivalRefused(Conflict):
    """It was received and kept, and nothing was started."""

    code = "arrival.refused"


class MayNotName(LiyagentError):
    """You may name yourself alone; naming somebody else needs auth.change_user."""

    code = "entry.may_not_name"
    http_status = HTTPStatus.FORBIDDEN


class ArrivalNotFound(NotFound):
    """Nothing is kept here that came in as this run."""

    code = "arrival.not_found"


class DeliveryNotFound(NotFound):
    """No delivery with this number is kept here."""

    code = "delivery.not_found"


class DeliveryIsNot(Conflict):
    """The delivery is not in a state that this can be done with."""

    code = "delivery.state"


class MayAppearTwice(Conflict):
    """It was sent once, and nobody can tell whether it arrived; sent again it may appear twice, which has to be confirmed."""

    code = "delivery.may_appear_twice"
