"""What can go wrong with a confidential concern, each with its code."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import LiyagentError


class ConcernNotFound(LiyagentError):
    """There is no concern with this number."""

    code = "concern.not_found"
    http_status = HTTPStatus.NOT_FOUND

    def __init__(self, concern_id: int) -> None:
        """Name it, and where those there are are listed."""
        super().__init__(
            f"there is no concern {concern_id}; `GET /api/concerns` and `manage.py audit concerns` list them"
        )


class AlreadyOpen(LiyagentError):
    """A concern about the same is open."""

    code = "concern.already_open"
    http_status = HTTPStatus.CONFLICT


class AlreadyClosed(LiyagentError):
    """This concern is closed."""

    code = "concern.already_closed"
    http_status = HTTPStatus.CONFLICT
