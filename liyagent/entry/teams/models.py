"""Bots, the people of ours behind their accounts, and the turns of conversations."""

from __future__ import annotations

from django.db import models
from django.db.models import Func

WAY = "teams"
NOW = Func(function="liyagent_now", output_field=models.DateTimeField())
CLOUD_METADATA = "https://login.botframework.com/v1/.well-known/openidconfiguration"
CLOUD_ISSUER = "https://api.botframework.com"
CLOUD_SCOPE = "https://api.botframework.com/.default"
CLOUD_TOKENS = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"


class TeamsBot(models.Model):
    """One registration at the Bot Framework, the agent that answers there, and as whom its runs are started.

    `secret_env` names the variable with the client secret. The addresses are those of the public cloud unless set.
    """

    key = models.CharField(max_length=80, unique=True)
    agent_key = models.CharField(max_length=80)
    app_id = models.CharField(max_length=36, unique=True)
    tenant = models.CharField(max_length=36)
    secret_env = models.CharField(max_length=100)
    started_by = models.CharField(max_length=150)
    is_enabled = models.BooleanField(default=True)
    metadata_url = models.CharField(max_length=300, default=CLOUD_METADATA)
    issuer = models.CharField(max_length=300, default=CLOUD_ISSUER)
    token_url = models.CharField(max_length=300, blank=True)
    scope = models.CharField(max_length=300, default=CLOUD_SCOPE)
    saved_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("key",)
        verbose_name = "Teams bot"

    def __str__(self) -> str:
        return self.key

    @property
    def tokens_from(self) -> str:
        """Where its own tokens are fetched."""
        return self.token_url or CLOUD_TOKENS.format(tenant=self.tenant)


class TeamsPerson(models.Model):
    """A Teams account, by its object id in Entra, and the user of ours whose rights its buttons have."""

    aad_object_id = models.CharField(max_length=36, primary_key=True)
    username = models.CharField(max_length=150)
    saved_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("aad_object_id",)
        verbose_name = "Teams person"
        verbose_name_plural = "Teams people"

    def __str__(self) -> str:
        return f"{self.aad_object_id} is {self.username}"


class TeamsTurn(models.Model):
    """One message to a bot: the run that it is, where it was said, and the one activity that the answer updates.

    `reply` is the id of that activity; once it is set it stays, whoever posts another (ruling 30).
    """

    run_id = models.UUIDField(primary_key=True, editable=False)
    bot_key = models.CharField(max_length=80)
    conversation = models.CharField(max_length=300)
    activity = models.CharField(max_length=255)
    service_url = models.CharField(max_length=300)
    person = models.CharField(max_length=100, blank=True)
    reply = models.CharField(max_length=300, blank=True, db_default="", default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-run_id",)
        verbose_name = "Teams turn"
        indexes = (
            # The turns before this one, newest first: ids of runs rise with time.
            models.Index(fields=["bot_key", "conversation", "-run_id"], name="teams_turn_history"),
            models.Index(fields=["bot_key", "-run_id"], name="teams_turn_of_bot"),
            models.Index(fields=["created_at"], name="teams_turn_old"),
        )

    def __str__(self) -> str:
        return f"{self.bot_key}: {self.run_id}"
