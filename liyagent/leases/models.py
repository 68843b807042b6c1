"""Holders and leases. All deadlines are the database's clock (ruling 1)."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Holder(models.Model):
    """One life of one process; a restarted process is a new holder, whatever its name.

    All that it holds is renewed by `renew_by` alone. `boot_id`, `pid_namespace`, `pid` and
    `started_ticks` let a neighbour prove it dead. `life_lock` is the key of the session advisory lock that
    its renewing connection (`backend_pid`) keeps, null where it keeps none: free, it hints at death.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200)
    boot_id = models.CharField(max_length=64)
    pid_namespace = models.CharField(max_length=64)
    pid = models.IntegerField()
    started_ticks = models.BigIntegerField()
    renew_by = models.DateTimeField()
    formats = ArrayField(models.SmallIntegerField(), default=list)
    key_ids = ArrayField(models.CharField(max_length=64), default=list)
    is_draining = models.BooleanField(default=False)
    backend_pid = models.IntegerField(null=True, blank=True)
    life_lock = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """A named right that one holder has until a time: the leader's, a saga's, a job's. `epoch` rises with each take."""

    name = models.CharField(max_length=120, primary_key=True)
    holder = models.UUIDField()
    epoch = models.BigIntegerField(default=1)
    until = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
