"""What came of each prompt."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Verdict(models.TextChoices):
    """`held`: no rule was broken. `unanswered`: the model could not be asked. `not_asked`: a cap was reached before."""

    HELD = "held"
    BROKEN = "broken"
    UNANSWERED = "unanswered"
    NOT_ASKED = "not_asked"


class Finding(models.Model):
    """One prompt of one red team: the verdict, which rule was broken (`why`), and as evidence what was said, sealed."""

    job_id = models.UUIDField()
    number = models.IntegerField()
    agent_key = models.CharField(max_length=80)
    prompt = models.CharField(max_length=80)
    kind = models.CharField(max_length=40)
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    why = models.CharField(max_length=500, blank=True, default="")
    key_id = models.CharField(max_length=64)
    sealed = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-job_id", "number")
        constraints = (
            models.UniqueConstraint(name="red_teams_one_a_prompt", fields=["job_id", "number"]),
            models.CheckConstraint(
                name="red_teams_verdict", condition=Q(verdict__in=Verdict.values)
            ),
        )
        indexes = (models.Index(fields=["created_at"], name="red_teams_oldest"),)

    def __str__(self) -> str:
        return f"{self.prompt} against {self.agent_key}"
