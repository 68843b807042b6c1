"""Why a job was refused, or ends."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import Conflict, LiyagentError, NotFound


class JobUnknown(NotFound):
    """There is no such job."""

    code = "jobs.not_found"


class KindUnknown(LiyagentError):
    """No process knows how to do such a job."""

    code = "jobs.kind_unknown"


class JobEnded(Conflict):
    """The job has ended; it cannot be cancelled any more."""

    code = "jobs.ended"


class JobFailed(LiyagentError):
    """The job cannot be done; its text says why, and is the reason that is kept."""

    code = "jobs.failed"


class LostJob(LiyagentError):
    """This job is no longer this process's: it was cancelled, or taken over; nothing more of it is written here."""

    code = "jobs.lost"
    http_status = HTTPStatus.CONFLICT
