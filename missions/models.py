"""Missions that somebody named. Rows are written by the SQL function `liyagent_mission_seen` alone."""

from __future__ import annotations

from django.db import models


class Mission(models.Model):
    """A named mission: when it was first seen and by whom, and when last, to the minute.

    Noted by a trigger in the commit of each audit row that bears it. The id of a run or request that stands in where nobody
    named one has no row here.
    """

    id = models.CharField(max_length=128, primary_key=True)
    first_seen = models.DateTimeField()
    first_by = models.CharField(max_length=200, blank=True)
    last_seen = models.DateTimeField()

    class Meta:
        ordering = ("-first_seen",)
        indexes = (models.Index(fields=["-first_seen", "-id"], name="missions_newest"),)

    def __str__(self) -> str:
        return self.id
