"""`POST /api/fine-tunes`: a model from what an agent said. How it goes is told by `/api/jobs/{id}`."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.access.views import GuardedView
from liyagent.jobs.serializers import AskedSerializer, JobSerializer
from liyagent.training.fine_tunes.ask import ask_fine_tune, wanted_of
from liyagent.training.fine_tunes.serializers import FineTuneInput
from missions.context import current_stamp


class FineTunes(GuardedView):
    """`POST /api/fine-tunes`: words leave, so who asks must be allowed to read them."""

    needs = {"POST": (OPERATE, READ_WORDS)}

    @extend_schema(request=FineTuneInput, responses={HTTPStatus.ACCEPTED: AskedSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a fine-tuning; 202 once it is stored. One of this agent that goes on already is told instead."""
        given = FineTuneInput(data=request.data)
        given.is_valid(raise_exception=True)
        asked_for = dict(given.validated_data)
        wanted = wanted_of(asked_for.pop("agent"), **asked_for)
        stamp = current_stamp()
        asked = ask_fine_tune(
            wanted,
            asked_by=request.user.get_username(),
            mission=stamp.mission or stamp.request_id,
        )
        told = {"job": JobSerializer(asked.job).data, "is_new": asked.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)
