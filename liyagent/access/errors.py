"""What can go wrong with API keys."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import LiyagentError


class UserUnknown(LiyagentError):
    """There is no active user of this name."""

    code = "access.user_unknown"
    http_status = HTTPStatus.NOT_FOUND


class KeyUnknown(LiyagentError):
    """There is no API key with this prefix that is not yet revoked."""

    code = "access.key_unknown"
    http_status = HTTPStatus.NOT_FOUND


class TooManyKeys(LiyagentError):
    """The user has as many API keys as one may have."""

    code = "access.too_many_keys"
    http_status = HTTPStatus.CONFLICT


class UserTaken(LiyagentError):
    """There is a user of this name already."""

    code = "access.user_taken"
    http_status = HTTPStatus.CONFLICT


class LastOfItsKind(LiyagentError):
    """Without this user nobody could manage users any more."""

    code = "access.last_superuser"
    http_status = HTTPStatus.CONFLICT
