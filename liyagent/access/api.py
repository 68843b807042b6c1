"""`/api/api-keys`: a user's own keys."""

from __future__ import annotations

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.keys import create_key, revoke_key
from liyagent.access.listing import list_keys
from liyagent.access.models import ApiKey
from liyagent.access.permissions import END_ANY_KEY, KEEP_OWN_KEYS, holds, scopes_of
from liyagent.access.scopes import ALL, check_scopes, covers
from liyagent.access.serializers import KeyInput, KeyPage, KeySerializer, NewKeySerializer
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each


class KeyList(GuardedView):
    """`GET` and `POST /api/api-keys`: see one's own keys and make one; its secret is answered this once."""

    needs = {"GET": (KEEP_OWN_KEYS,), "POST": (KEEP_OWN_KEYS,)}

    @extend_schema(
        summary="List your API keys",
        parameters=[OpenApiParameter("limit", int), OpenApiParameter("cursor", str)],
        responses=KeyPage,
    )
    def get(self, request: Request) -> Response:
        """Answer with a page of the keys of who asks, newest first."""
        asked = once_each(request.query_params)
        page = list_keys(request.user.get_username(), asked)
        following = urlencode({**asked, "cursor": page.next_cursor})
        return Response(
            {
                "keys": KeySerializer(page.keys, many=True).data,
                "next": f"{request.path}?{following}" if page.next_cursor else None,
            }
        )

    @extend_schema(
        summary="Make an API key",
        request=KeyInput,
        responses={HTTPStatus.CREATED: NewKeySerializer},
    )
    def post(self, request: Request) -> Response:
        """Make a key for who asks, of no more and for no longer than what they may with the key they ask with."""
        given = KeyInput(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        scopes = check_scopes(asked["scopes"])
        for scope in scopes:
            if not _may_hand_on(request, scope):
                raise PermissionDenied(f"scopes may not exceed what you may yourself; {scope} does")
        new = create_key(
            name=asked["name"],
            username=request.user.get_username(),
            days=asked["days"],
            until=_end_for(request, asked["days"]),
            scopes=scopes,
            actor=request.user.get_username(),
        )
        data = {**KeySerializer(new.key).data, "token": new.token}
        return Response(data, status=HTTPStatus.CREATED)


class KeyRevoke(GuardedView):
    """`POST /api/api-keys/{prefix}/revoke`: one's own; whoever may change keys, anybody's."""

    needs = {"POST": (KEEP_OWN_KEYS,)}

    @extend_schema(summary="Revoke an API key", request=None, responses=KeySerializer)
    def post(self, request: Request, prefix: str) -> Response:
        """End a key at once."""
        actor = request.user.get_username()
        owner = None if holds(request, END_ANY_KEY) else actor
        revoke_key(prefix, actor=actor, owner=owner)
        return Response(KeySerializer(ApiKey.objects.get(prefix=prefix)).data)


def _end_for(request: Request, days: int | None) -> datetime | None:
    """Return when the key that is asked with ends, None where it does not. Raises `PermissionDenied`."""
    key: Any = request.auth
    end = key.expires_at if isinstance(key, ApiKey) else None
    if end is not None and days is not None and key.now + timedelta(days=days) > end:
        raise PermissionDenied(
            f"a key made with this key may not outlive it; it ends at {end.isoformat()}"
        )
    return end


def _may_hand_on(request: Request, scope: str) -> bool:
    return covers(scopes_of(request), ALL) if scope == ALL else holds(request, scope)
