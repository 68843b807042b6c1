"""Addresses of classifiers, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.training.classifiers.api import ClassifierAsk, ClassifierOne, ClassifierTrain

ONE = "classifiers/<str:key>"
urlpatterns = [
    path(ONE, ClassifierOne.as_view(), name="classifier"),
    path(f"{ONE}/train", ClassifierTrain.as_view(), name="classifier-train"),
    path(f"{ONE}/classify", ClassifierAsk.as_view(), name="classifier-classify"),
]
