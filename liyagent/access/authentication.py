"""`Authorization: Bearer liy_<prefix>_<secret>`."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from liyagent.access.attempts import count_bad_key
from liyagent.access.keys import key_of
from liyagent.access.models import ApiKey
from liyagent.core.client_address import client_address

SCHEME = "bearer"


class ApiKeyAuthentication(BaseAuthentication):
    """Acts as the key's user; `request.auth` is the key, whose scopes narrow what it may do.

    A bearer token that is no key in force is refused, never passed over.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        """Return user and key, or None where no bearer token is given.

        Raises `AuthenticationFailed`, or `Throttled` where too many such came from the same address. A key in
        force is let in even then: it cannot have been guessed.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        key = key_of(token.strip())
        if key is None:
            seconds = count_bad_key(client_address(request.META))
            if seconds:
                raise Throttled(wait=seconds)
            raise AuthenticationFailed("This API key is not known, has expired or was revoked.")
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme in WWW-Authenticate, so that a missing key answers 401 and not 403."""
        return 'Bearer realm="liyagent"'
