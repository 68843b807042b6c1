"""`/api/workflows/{key}/runs` and `/api/runs/{id}/signals`: start a run of a workflow, and tell it what it waits for."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import StrictSerializer, Words, start_key_of
from liyagent.core.canonical import digest
from liyagent.workflows.signal import send_signal
from liyagent.workflows.start import start_workflow
from missions.context import current_stamp
from runs.api import ENTRY, START_PARAMETERS, accepted, run_told, wait_asked
from runs.await_end import wait_for_end
from runs.serializers import RunToldSerializer, StartedSerializer


@extend_schema_field(OpenApiTypes.ANY)
class AnyJson(serializers.JSONField):
    """Any JSON."""


class WorkflowRunInput(StrictSerializer):
    """The body of a start."""

    input = AnyJson(required=False, default=dict)


class SignalInput(StrictSerializer):
    """The body of a signal."""

    name = Words(max_length=200)
    payload = AnyJson(required=False, default=None, allow_null=True)


class SignalTold(serializers.Serializer[Any]):
    """A signal that is kept until a step takes it."""

    id = serializers.IntegerField()
    run_id = serializers.UUIDField()
    name = serializers.CharField()


class WorkflowRuns(GuardedView):
    """`POST /api/workflows/{key}/runs`: 202 once the row is committed (ruling 29)."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        summary="Start a run of a workflow",
        parameters=START_PARAMETERS,
        request=WorkflowRunInput,
        responses={200: RunToldSerializer, 202: StartedSerializer},
    )
    def post(self, request: Request, key: str) -> Response:
        """Start a run with an input, or find the one that the same `Idempotency-Key` started."""
        seconds = wait_asked(request)
        start_key = start_key_of(request)
        given = WorkflowRunInput(data=request.data)
        given.is_valid(raise_exception=True)
        stamp = current_stamp()
        started = start_workflow(
            key=key,
            given=given.validated_data["input"],
            entry=ENTRY,
            started_by=request.user.get_username(),
            mission=stamp.mission,
            request_id=stamp.request_id,
            start_key=start_key,
            body_digest=digest(["workflow", key, request.data]),
        )
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if seconds and wait_for_end(started.run_id, seconds=seconds):
            told = run_told(started.run_id, with_words=may_read_words(request))
            return Response(told, headers=headers)
        return Response(accepted(started), status=HTTPStatus.ACCEPTED, headers=headers)


class RunSignals(GuardedView):
    """`POST /api/runs/{id}/signals`: 202 once it is kept; a step takes it now, or when it comes to wait for it."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        summary="Send a signal to a run of a workflow",
        request=SignalInput,
        responses={202: SignalTold},
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """Send a signal: several of one name are taken in their order."""
        given = SignalInput(data=request.data)
        given.is_valid(raise_exception=True)
        signal = send_signal(
            run_id=run_id,
            name=given.validated_data["name"],
            payload=given.validated_data["payload"],
            actor=request.user.get_username(),
        )
        told = {"id": signal.id, "run_id": run_id, "name": signal.name}
        return Response(SignalTold(told).data, status=HTTPStatus.ACCEPTED)
