"""`GET /api/agents/{key}/sagas`."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import VIEW_RUN
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, next_link
from sagas.listing import list_sagas
from sagas.models import SagaStatus
from sagas.serializers import SagaPageSerializer, SagaSerializer

PAGES = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class AgentSagas(GuardedView):
    """`GET /api/agents/{key}/sagas`: newest first; `next` leads on, with the same filter, until it is null.

    A page can be short, or empty, and yet lead on: for a status at most 10,000 of the agent's are looked through.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(
        parameters=[OpenApiParameter("status", str, enum=SagaStatus.values), *PAGES],
        responses=SagaPageSerializer,
    )
    def get(self, request: Request, key: str) -> Response:
        """Show a page of an agent's sagas."""
        asked = once_each(request.query_params)
        page = list_sagas(key, asked)
        return Response(
            {
                "sagas": SagaSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )
