"""Classifiers by version, and examples that wait for their training: both sealed, as they hold people's words."""

from __future__ import annotations

from django.db import models


class TrainingInput(models.Model):
    """Labelled examples as they were given; gone when their job ends."""

    id = models.UUIDField(primary_key=True, editable=False)
    key_id = models.CharField(max_length=64)
    sealed = models.BinaryField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.id)


class Classifier(models.Model):
    """One version of a classifier, never changed.

    `accuracy` of `measured_on` examples that it was not trained on, null where there were none; `baseline` is what always saying
    the commonest label would have reached on the same.
    """

    key = models.CharField(max_length=80)
    version = models.PositiveIntegerField()
    labels = models.JSONField(default=dict)
    trained_on = models.PositiveIntegerField()
    measured_on = models.PositiveIntegerField()
    accuracy = models.FloatField(null=True)
    baseline = models.FloatField(null=True)
    job_id = models.UUIDField(unique=True)
    key_id = models.CharField(max_length=64)
    sealed = models.BinaryField()
    trained_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("key", "-version")
        constraints = (
            models.UniqueConstraint(
                name="classifiers_one_row_a_version", fields=["key", "version"]
            ),
        )

    def __str__(self) -> str:
        return f"{self.key} version {self.version}"
