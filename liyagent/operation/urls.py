"""The address of the metrics."""

from __future__ import annotations

from django.urls import path

from liyagent.operation.views import metrics

urlpatterns = [path("metrics", metrics, name="metrics")]
