"""Rows whose JSON has the shape that its readers rely on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import deepcopy
from typing import Any, Self

from django.db import models


class Shaped(models.Model):
    """A row whose JSON has the shape that its readers rely on: what has another, by whoever's hand, is read as nothing at all."""

    SHAPES: dict[str, tuple[Callable[[Any], bool], Any]]

    class Meta:
        abstract = True

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any]) -> Self:
        """Load a row."""
        row = super().from_db(db, field_names, values)
        for name, (is_right, nothing) in cls.SHAPES.items():
            if name in row.__dict__ and not is_right(row.__dict__[name]):
                row.__dict__[name] = deepcopy(nothing)
        return row
