"""The view that every address of the API is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NoReturn

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


class GuardedView(APIView):
    """A view whose `needs` names the permissions by method, for example {"GET": (VIEW_RUN,)}."""

    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]


@extend_schema(exclude=True)
class UnknownAddress(GuardedView):
    """404 for any address below /api/ that is none, to those who may ask at all."""

    needs = {"GET": (), "POST": (), "PUT": (), "PATCH": (), "DELETE": ()}

    def get(self, request: Request, rest: str) -> NoReturn:
        """Say so."""
        raise NotFound(f"there is no /api/{rest}")

    post = put = patch = delete = get
