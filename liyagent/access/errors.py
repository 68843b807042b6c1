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
