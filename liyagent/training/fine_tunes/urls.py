"""Addresses of fine-tunings, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.training.fine_tunes.api import FineTunes

urlpatterns = [path("fine-tunes", FineTunes.as_view(), name="fine-tunes")]
