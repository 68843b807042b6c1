"""Why a fine-tuning was refused, or how its endpoint answered."""

from __future__ import annotations

from liyagent.core.errors import BadInput, LiyagentError


class FineTuneInvalid(BadInput):
    """What is to be tuned, or where, cannot be used."""

    code = "fine_tunes.invalid"


class NotSent(LiyagentError):
    """Nothing of the request left: it may be made again."""

    code = "fine_tunes.not_sent"


class Refused(LiyagentError):
    """The endpoint said no; nothing was made of the request."""

    code = "fine_tunes.refused"


class Busy(LiyagentError):
    """The endpoint wants to be asked later; nothing was made of the request."""

    code = "fine_tunes.busy"


class Unclear(LiyagentError):
    """The request may have left, and nobody said what became of it."""

    code = "fine_tunes.unclear"
