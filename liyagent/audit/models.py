"""The audit log: rows are added and never changed (ruling 28)."""

from __future__ import annotations

from django.db import models


class AuditRow(models.Model):
    """One thing that happened: `action` in dotted words, `detail` plain facts without anybody's words."""

    at = models.DateTimeField()
    action = models.CharField(max_length=80)
    actor = models.CharField(max_length=200, blank=True)
    mission = models.CharField(max_length=128, blank=True)
    correlation_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("-id",)
        verbose_name = "audit row"
        indexes = (
            models.Index(fields=["run_id", "id"], name="audit_by_run"),
            models.Index(fields=["mission", "id"], name="audit_by_mission"),
            models.Index(fields=["action", "id"], name="audit_by_action"),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.action}"
