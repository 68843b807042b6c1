"""The view that every address of the API is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NoReturn

from django.contrib.auth import get_user
from django.urls import resolve
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from liyagent.core.tables import cell

LONGEST_SHOWN = 200
# Our longest addresses have fewer parts.
MOST_PARTS = 8
# The name of the address that takes what no other does.
UNKNOWN = "unknown-address"


class GuardedView(APIView):
    """A view whose `needs` names the permissions by method, for example {"GET": (VIEW_RUN,)}."""

    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    def asked_again(self, request: Request) -> Request | None:
        """Return the request as it would come in now, None where it would be refused: for answers that take long."""
        http = request._request
        http.session = type(http.session)(http.session.session_key)
        http.user = get_user(http)
        fresh = self.initialize_request(http)
        try:
            self.perform_authentication(fresh)
            self.check_permissions(fresh)
        except APIException:
            return None
        return fresh


@extend_schema(exclude=True)
class UnknownAddress(GuardedView):
    """404 for any address below /api/ that is none, to those who may ask at all."""

    needs = {"GET": (), "POST": (), "PUT": (), "PATCH": (), "DELETE": ()}

    def get(self, request: Request, rest: str) -> NoReturn:
        """Say so, and where to look instead: a wrong address is mostly a wrong id."""
        raise NotFound(f"there is no /api/{cell(rest[:LONGEST_SHOWN])}; {_advice(rest)}")

    post = put = patch = delete = get


def _advice(rest: str) -> str:
    """Name the nearest address above one that is none, where there is one: it lists what there is, or shows it."""
    parts = rest.split("/")[:MOST_PARTS]
    for length in range(len(parts) - 1, 0, -1):
        above = "/api/" + "/".join(parts[:length])
        if all(parts[:length]) and resolve(above).url_name != UNKNOWN:
            return f"see {above} for what there is, and /api/docs for every address"
    return "see /api/docs for every address"
