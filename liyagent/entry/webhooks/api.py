"""`POST /hooks/{key}`: where senders of webhooks and ticket events call."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import psycopg
from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, InternalError, OperationalError
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled, UnsupportedMediaType
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.attempts import count_bad_key
from liyagent.access.views import GuardedView
from liyagent.core.api import TryLater
from liyagent.core.client_address import client_address
from liyagent.core.problems import BodyTooLarge
from liyagent.entry.webhooks.errors import SecretsAway
from liyagent.entry.webhooks.receive import receive_call
from liyagent.entry.webhooks.verify import BadSignature, SignedCall, verify_call
from missions.context import current_stamp

MOST_BYTES = 256 << 10
JSON = "application/json"
AGAIN_SECONDS = 60
AWAY = (
    OperationalError,
    InterfaceError,
    InternalError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
)


class SignedByTrigger(BaseAuthentication):
    """Lets in what is signed with a secret of the trigger that the address names; `request.auth` is the call."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, SignedCall]:
        """Return the call.

        Raises `AuthenticationFailed`, `BodyTooLarge`, `Throttled` where too many bad ones came from the same address,
        `TryLater` while no secret of the trigger is set here.
        """
        http = request._request
        if len(http.body) > MOST_BYTES:
            raise BodyTooLarge(f"a webhook may have {MOST_BYTES} bytes")
        key = str(http.resolver_match.kwargs["key"]) if http.resolver_match else ""
        try:
            call = verify_call(key, headers=request.headers, body=http.body)
        except SecretsAway as error:
            raise TryLater(error.title, seconds=AGAIN_SECONDS) from None
        except BadSignature as error:
            seconds = count_bad_key(client_address(request.META))
            if seconds:
                raise Throttled(wait=seconds) from None
            raise AuthenticationFailed(f"The call is refused: {error}.") from None
        return AnonymousUser(), call

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that a missing signature answers 401."""
        return 'Webhook realm="liyagent-hooks"'


class IsSigned(BasePermission):
    """Lets in a call that is signed, and nothing else."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Say whether it is."""
        return isinstance(request.auth, SignedCall)


@extend_schema(exclude=True)
class Hook(GuardedView):
    """`POST /hooks/{key}`: for the sender alone whose secret the trigger has; the signature is the authentication (docs/webhooks.md).

    202 once its row is committed, the same for each repeat of a delivery.
    """

    needs = {"POST": ()}
    authentication_classes = (SignedByTrigger,)
    permission_classes = (IsSigned,)

    def post(self, request: Request, key: str) -> Response:
        """Receive a call."""
        call = request.auth
        assert isinstance(call, SignedCall)
        if (request.content_type or "").partition(";")[0].strip().lower() != JSON:
            raise UnsupportedMediaType(str(request.content_type))
        accepted = receive_call(call, request_id=current_stamp().request_id)
        state = "ignored" if accepted.run_id is None else "accepted"
        return Response({"id": accepted.run_id, "state": state}, status=HTTPStatus.ACCEPTED)

    def handle_exception(self, exc: Exception) -> Response:
        """As of any view; while the database is away the sender is told to come again."""
        if isinstance(exc, AWAY):
            exc = TryLater("The database is away.", seconds=AGAIN_SECONDS)
        return super().handle_exception(exc)
