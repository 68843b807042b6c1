"""Addresses of cohort replays, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.replays.api import (
    CohortReplayCancel,
    CohortReplayOne,
    CohortReplayRun,
    CohortReplays,
)

urlpatterns = [
    path("agents/<slug:key>/cohort-replays", CohortReplays.as_view(), name="cohort-replays"),
    path("cohort-replays/<str:replay_id>", CohortReplayOne.as_view(), name="cohort-replay"),
    path(
        "cohort-replays/<str:replay_id>/cancel",
        CohortReplayCancel.as_view(),
        name="cohort-replay-cancel",
    ),
    path(
        "cohort-replays/<str:replay_id>/runs/<uuid:run_id>",
        CohortReplayRun.as_view(),
        name="cohort-replay-run",
    ),
]
