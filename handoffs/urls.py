"""Addresses of hand-offs, below /api/."""

from __future__ import annotations

from django.urls import path

from handoffs.api import (
    HandoffList,
    HandoffOne,
    HandoffReadings,
    HandoffVersions,
    SnapshotOne,
)

urlpatterns = [
    path("handoffs", HandoffList.as_view(), name="handoffs"),
    path("handoffs/<uuid:thread>", HandoffOne.as_view(), name="handoff"),
    path("handoffs/<uuid:thread>/versions", HandoffVersions.as_view(), name="handoff-versions"),
    path("handoffs/<uuid:thread>/readings", HandoffReadings.as_view(), name="handoff-readings"),
    path("handoff-snapshots/<str:digest>", SnapshotOne.as_view(), name="handoff-snapshot"),
]
