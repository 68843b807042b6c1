"""Conversations of people with agents, and their turns."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Conversation(models.Model):
    """What one person says to one agent. Its turns are of one mission: the one named, else its own id.

    `turns` counts them; `changed_at` is when the last was asked.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    agent_key = models.CharField(max_length=80)
    owner = models.CharField(max_length=150)
    title = models.CharField(max_length=200, blank=True)
    mission = models.CharField(max_length=128)
    turns = models.IntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["owner", "-id"], name="copilot_conversation_of"),
            models.Index(fields=["changed_at"], name="copilot_conversation_old"),
            models.Index(fields=["owner", "changed_at"], name="copilot_conversation_empty", condition=Q(turns=0)),
        )  # fmt: skip

    def __str__(self) -> str:
        return self.title or str(self.id)


class Turn(models.Model):
    """What was asked once: one run. Its answer is the run's own; ended by a trigger, in the commit that ends the run.

    `sealed` is what was asked, under the run's own key, gone `LIYAGENT_ANSWER_DAYS` after the end. `given` and `left_out`
    count the earlier turns that its run was told, and those it was not, for want of room or because their words are gone.
    `outcome` is the run's last status, or `refused` where nothing was started.
    """

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="asked")
    number = models.IntegerField()
    run_id = models.UUIDField(unique=True, editable=False)
    sealed = models.BinaryField(null=True)
    key_id = models.CharField(max_length=64)
    given = models.IntegerField(default=0)
    left_out = models.IntegerField(default=0)
    outcome = models.CharField(max_length=12, blank=True, db_default="", default="")
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(
                name="copilot_one_turn_of_a_number", fields=["conversation", "number"]
            ),
            models.UniqueConstraint(
                name="copilot_one_open_turn",
                fields=["conversation"],
                condition=Q(ended_at__isnull=True),
            ),
        )
        indexes = (
            models.Index(
                fields=["ended_at"], name="copilot_turn_words_old", condition=Q(sealed__isnull=False)
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"turn {self.number} of {self.conversation_id}"
