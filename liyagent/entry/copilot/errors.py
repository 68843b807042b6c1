"""Why a turn was refused, each with its code."""

from __future__ import annotations

from liyagent.core.errors import Conflict, NotFound


class ConversationUnknown(NotFound):
    """There is no such conversation, or not for you."""

    code = "copilot.conversation_not_found"


class TurnOpen(Conflict):
    """The turn before has not ended: a conversation goes on one turn at a time."""

    code = "copilot.turn_open"


class TurnKeyReused(Conflict):
    """This Idempotency-Key was used before in this conversation, of a turn that asked something else."""

    code = "copilot.turn_key_reused"


class ConversationBusy(Conflict):
    """The conversation moved on while this turn was made ready. Nothing was kept of it: ask again."""

    code = "copilot.conversation_busy"
