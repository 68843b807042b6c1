"""Why a source was refused, or cannot be read, each with its code."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.errors import BadInput, Conflict, LiyagentError, NotFound
from liyagent.jobs.errors import JobFailed


class SourceInvalid(BadInput):
    """The source has fields that cannot be used."""

    code = "sources.invalid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        """`problems`: of each wrong field, what is wrong with it."""
        self.errors = [{"field": name, "detail": said} for name, said in problems.items()]
        super().__init__("; ".join(f"{name} {said}" for name, said in problems.items()))


class SourceUnknown(NotFound):
    """There is no such source."""

    code = "sources.not_found"


class SourceTaken(Conflict):
    """Somebody else made a source of this key at the same moment; look at it, and save again."""

    code = "sources.taken"


class SourceAway(JobFailed):
    """The source is not there, or cannot be listed; what was read of it stays as it is."""

    code = "sources.away"


class Unreadable(LiyagentError):
    """One document cannot be read now; what was read of it before stays."""

    code = "sources.document_unreadable"


class Gone(LiyagentError):
    """One document is not there any more."""

    code = "sources.document_gone"
