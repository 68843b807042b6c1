"""`Authorization: Bearer liy_<prefix>_<secret>`."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from liyagent.access.keys import user_of

SCHEME = "bearer"


class ApiKeyAuthentication(BaseAuthentication):
    """Acts as the key's user. A bearer token that is no key in force is refused, never passed over."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, None] | None:
        """Return the user, or None where no bearer token is given."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        user = user_of(token.strip())
        if user is None:
            raise AuthenticationFailed("This API key is not known, has expired or was revoked.")
        return user, None

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme in WWW-Authenticate, so that a missing key answers 401 and not 403."""
        return 'Bearer realm="liyagent"'
