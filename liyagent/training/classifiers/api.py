"""`/api/classifiers`: train one, see how good it is, and ask it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_AGENT, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.errors import BadInput
from liyagent.jobs.serializers import AskedSerializer, JobSerializer
from liyagent.training.classifiers.ask import ask_training
from liyagent.training.classifiers.classify import classify, find_classifier, remove_classifier
from liyagent.training.classifiers.examples import checked
from liyagent.training.classifiers.models import Classifier
from liyagent.training.classifiers.serializers import (
    ClassifiedSerializer,
    ClassifierSerializer,
    ClassifierVersions,
    RunsInput,
    TextInput,
    TrainingRequest,
)
from liyagent.training.spans import span_of
from missions.context import current_stamp


class ClassifierOne(GuardedView):
    """`GET` and `DELETE /api/classifiers/{key}`."""

    needs = {"GET": (VIEW_AGENT,), "DELETE": (OPERATE,)}

    @extend_schema(responses=ClassifierVersions)
    def get(self, request: Request, key: str) -> Response:
        """Show every version that is kept."""
        find_classifier(key)
        rows = Classifier.objects.filter(key=key).defer("sealed").order_by("-version")
        return Response({"versions": ClassifierSerializer(rows, many=True).data})

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Forget every version."""
        remove_classifier(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class ClassifierTrain(GuardedView):
    """`POST /api/classifiers/{key}/train`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=TrainingRequest, responses={HTTPStatus.ACCEPTED: AskedSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Ask for one more version; 202 once it is stored. Of runs it takes `transcripts.content.read` as well."""
        given: Any = request.data
        if not isinstance(given, dict) or len(given) != 1 or not set(given) <= {"examples", "runs"}:
            raise BadInput("the body wants an object with either examples or runs")
        stamp = current_stamp()
        facts: dict[str, Any] = {
            "asked_by": request.user.get_username(),
            "mission": stamp.mission or stamp.request_id,
        }
        if "runs" in given:
            facts["runs"] = self._runs(request)
        else:
            facts["examples"] = checked(given["examples"])
        asked = ask_training(key, **facts)
        told = {"job": JobSerializer(asked.job).data, "is_new": asked.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)

    def _runs(self, request: Request) -> dict[str, Any]:
        if not may_read_words(request):
            raise PermissionDenied(f"Training on runs needs the permission {READ_WORDS}.")
        runs = RunsInput(data=request.data["runs"])
        runs.is_valid(raise_exception=True)
        since, until = span_of(runs.validated_data["since"], runs.validated_data["until"])
        return {"since": since, "until": until, "agents": runs.validated_data["agents"]}


class ClassifierAsk(GuardedView):
    """`POST /api/classifiers/{key}/classify`."""

    needs = {"POST": (VIEW_AGENT,)}

    @extend_schema(request=TextInput, responses=ClassifiedSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Say which label a text fits. Nothing of it is kept."""
        given = TextInput(data=request.data)
        given.is_valid(raise_exception=True)
        found = classify(key, given.validated_data["text"], version=given.validated_data.get("version"))  # fmt: skip
        likeliest = [{"label": label, "probability": share} for label, share in found.likeliest]
        told = {"classifier": key, "version": found.version, "label": found.label, "likeliest": likeliest}  # fmt: skip
        return Response(told)
