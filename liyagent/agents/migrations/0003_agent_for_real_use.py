"""Caps, guardrails, hooks, owner and channels of an agent; a containment of all."""

import django.core.validators
from django.db import migrations, models

import liyagent.agents.models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0002_configversion_rises"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="channels",
            field=models.JSONField(
                blank=True,
                default=liyagent.agents.models.any_channel,
                help_text='The ways in it may be started by; "*": any.',
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="guardrails",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="agent",
            name="hooks",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="agent",
            name="is_streaming",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="agent",
            name="max_answer_tokens",
            field=models.PositiveIntegerField(
                default=0, help_text="The most tokens of one answer; 0: the provider's own limit."
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="max_calls",
            field=models.PositiveIntegerField(
                default=500,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(100000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="max_seconds",
            field=models.PositiveIntegerField(
                default=0, help_text="Seconds from a run's start, waits included; 0: no cap."
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="max_tokens",
            field=models.PositiveBigIntegerField(
                default=0, help_text="Tokens in and out, of a whole run; 0: no cap."
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="owner",
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name="configversion",
            name="contained_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="configversion",
            name="contained_reason",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="configversion",
            name="is_contained",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_calls__gte", 1), ("max_calls__lte", 100000)),
                name="agents_max_calls",
            ),
        ),
    ]
