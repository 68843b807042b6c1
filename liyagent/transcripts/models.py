"""Transcripts: sealed, one a run, written when it ends."""

from __future__ import annotations

from django.db import models


class Transcript(models.Model):
    """The words of an ended run. Of a run recorded as metadata it holds the answer alone."""

    run_id = models.UUIDField(primary_key=True)
    correlation_id = models.UUIDField()
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        permissions = (("content.read", "Can read the words of runs"),)

    def __str__(self) -> str:
        return str(self.run_id)
