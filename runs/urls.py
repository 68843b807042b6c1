"""Addresses of runs, below /api/."""

from __future__ import annotations

from django.urls import path

from runs.api import RunList, RunOne, RunStart, RunStop, RunTranscript
from runs.doubts_api import CallDidNot, CallHappened, CallLookAgain, DoubtList, DoubtOne
from runs.evidence_api import AgentRunEvents, RunEvents
from runs.resume_api import RunResume
from runs.sagas_api import SagaClose, SagaCompensate, SagaOne
from runs.stream_api import RunStream

urlpatterns = [
    path("agents/<slug:key>/runs", RunStart.as_view(), name="run-start"),
    path("runs", RunList.as_view(), name="run-list"),
    path("runs/<uuid:run_id>", RunOne.as_view(), name="run-one"),
    path("runs/<uuid:run_id>/transcript", RunTranscript.as_view(), name="run-transcript"),
    path("runs/<uuid:run_id>/stream", RunStream.as_view(), name="run-stream"),
    path("runs/<uuid:run_id>/stop", RunStop.as_view(), name="run-stop"),
    path("runs/<uuid:run_id>/resume", RunResume.as_view(), name="run-resume"),
    path("run-events/<uuid:run_id>", RunEvents.as_view(), name="run-events"),
    path("agents/<slug:key>/run-events", AgentRunEvents.as_view(), name="agent-run-events"),
    path("sagas/<uuid:run_id>", SagaOne.as_view(), name="saga-one"),
    path("sagas/<uuid:run_id>/compensate", SagaCompensate.as_view(), name="saga-compensate"),
    path("sagas/<uuid:run_id>/close", SagaClose.as_view(), name="saga-close"),
    path("calls/in-doubt", DoubtList.as_view(), name="doubt-list"),
    path("calls/<int:call_id>", DoubtOne.as_view(), name="doubt-one"),
    path("calls/<int:call_id>/happened", CallHappened.as_view(), name="call-happened"),
    path("calls/<int:call_id>/did-not", CallDidNot.as_view(), name="call-did-not"),
    path("calls/<int:call_id>/look-again", CallLookAgain.as_view(), name="call-look-again"),
]
