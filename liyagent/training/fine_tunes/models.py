"""Examples on their way to an endpoint: sealed, and gone when their job ends."""

from __future__ import annotations

from django.db import models


class Example(models.Model):
    """One line of the file, made of one run."""

    job_id = models.UUIDField()
    number = models.IntegerField()
    run_id = models.UUIDField()
    key_id = models.CharField(max_length=64)
    sealed = models.BinaryField()

    class Meta:
        ordering = ("job_id", "number")
        constraints = (
            models.UniqueConstraint(
                name="fine_tunes_one_line_a_number", fields=["job_id", "number"]
            ),
            models.UniqueConstraint(name="fine_tunes_one_line_a_run", fields=["job_id", "run_id"]),
        )

    def __str__(self) -> str:
        return f"example {self.number} of {self.job_id}"
