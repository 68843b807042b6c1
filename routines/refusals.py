"""Why a routine is not adopted, dismissed or changed, each with its code."""

from __future__ import annotations

from liyagent.core.errors import BadInput, Conflict


class RoutineFiled(Conflict):
    """A person is asked about this routine; decide about that, or withdraw it."""

    code = "routine.filed"


class RoutineAdopted(Conflict):
    """This routine is adopted."""

    code = "routine.adopted"


class RoutineDismissed(Conflict):
    """This routine was dismissed for good."""

    code = "routine.dismissed"


class RoutineWithheld(Conflict):
    """This routine is not offered."""

    code = "routine.withheld"


class RoutineStale(Conflict):
    """A tool of this routine is not what it was when it was compiled; have the agent's runs mined again."""

    code = "routine.stale"


class RoutineMoved(Conflict):
    """The routine is no longer what was shown; look at it as it is now."""

    code = "routine.moved"


class RoutineUnfit(Conflict):
    """This cannot be saved as a workflow as things stand."""

    code = "routine.unfit"


class NotItsRequest(Conflict):
    """This request is not the one that is open for its routine; withdraw it."""

    code = "routine.not_its_request"


class PlaceUnknown(BadInput):
    """There is no value at this place that could be turned into a parameter."""

    code = "routine.place_unknown"


class NameUnfit(BadInput):
    """The parameter cannot have this name."""

    code = "routine.name_unfit"
