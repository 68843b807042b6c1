"""`/api/sagas/{run_id}`: what a failed run did, what of it was undone, and what a person does about the rest."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import next_link
from runs.close_saga import close_saga
from runs.compensate import compensate_run
from runs.saga_page import saga_of, saga_told
from runs.sagas_serializers import CompensateInput, SagaCloseInput, SagaToldSerializer
from sagas.api import PAGES
from sagas.serializers import SagaSerializer


class SagaOne(GuardedView):
    """`GET /api/sagas/{run_id}`: by the root run's id or that of any run below it.

    Every undo, the newest first, a page at a time; what is of unknown outcome, the rounds, and to whom it was handed.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGES, responses=SagaToldSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show a saga."""
        asked = once_each(request.query_params)
        saga = saga_of(run_id)
        told = saga_told(saga, asked, opens=may_read_words(request))
        told["next"] = next_link(request.path, asked, told.pop("next_cursor"))
        return Response({**facts_told(saga), **told})


class SagaCompensate(GuardedView):
    """`POST /api/sagas/{run_id}/compensate`: 202, what is still owed or has failed is undone; a round that is at it is told.

    404 for a run without a saga; 409 `sagas.open` while it goes on, `sagas.closed`, `sagas.nothing_owed`.
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=CompensateInput, responses={202: SagaSerializer})
    def post(self, request: Request, run_id: UUID) -> Response:
        """Undo what is owed."""
        given = CompensateInput(data=request.data)
        given.is_valid(raise_exception=True)
        saga = compensate_run(
            run_id=run_id,
            actor=request.user.get_username(),
            reason=given.validated_data.get("reason", ""),
        )
        return Response(facts_told(saga), status=HTTPStatus.ACCEPTED)


class SagaClose(GuardedView):
    """`POST /api/sagas/{run_id}/close`: nothing more of it is undone, and what is asked of people for it is withdrawn.

    404 for a run without a saga; 409 `sagas.open` while it goes on, `sagas.compensating`, `sagas.closed`.
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=SagaCloseInput, responses=SagaSerializer)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Close a saga, and say why."""
        given = SagaCloseInput(data=request.data)
        given.is_valid(raise_exception=True)
        saga = close_saga(
            run_id=run_id,
            actor=request.user.get_username(),
            reason=given.validated_data["reason"],
        )
        return Response(facts_told(saga))


def facts_told(saga: Any) -> dict[str, Any]:
    """Return a saga's own facts, as lists show them."""
    return dict(SagaSerializer(saga).data)
