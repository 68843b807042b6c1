"""Why something about a saga was refused, each with its code."""

from __future__ import annotations

from liyagent.core.errors import Conflict, NotFound


class SagaUnknown(NotFound):
    """This run registered nothing to undo, and nothing of it was handed to a person."""

    code = "sagas.not_found"


class SagaClosed(Conflict):
    """This saga is closed: nothing of it is undone any more."""

    code = "sagas.closed"


class NothingOwed(Conflict):
    """Nothing of this saga is owed: what is held waits for its decision, what is unknown for a person to say what happened."""

    code = "sagas.nothing_owed"


class SagaOpen(Conflict):
    """Its run has not ended: stop it first, and what it did is undone then."""

    code = "sagas.open"


class Compensating(Conflict):
    """What this run did is being undone just now."""

    code = "sagas.compensating"


class UndosLeft(Conflict):
    """Not all that was owed is undone."""

    code = "sagas.left"
