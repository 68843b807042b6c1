"""The detail of an audit row: an object, whatever somebody made of it since."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast, Length
from django.db.models.lookups import LessThanOrEqual

from liyagent.core.plain import NotStorable, parse_json

# A longer detail is read on the row's own page alone.
LONGEST_LISTED = 4_000
# Of what is no object of ours so much is told, under this name.
LONGEST_OTHER = 500
OTHER = "not_written_here"


class Detail(models.JSONField):
    """JSON that is read as an object: what none of our verbs can have written is one whose `not_written_here` is its beginning.

    To migrations it is a JSONField.
    """

    def deconstruct(self) -> Any:
        """Return how it is made anew."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """Return the object, None for none; a part of it, where that is asked for, as it stands."""
        if value is None or isinstance(expression, KeyTransform):
            return super().from_db_value(value, expression, connection)
        try:
            found = parse_json(value)
        except NotStorable:
            found = None
        return found if isinstance(found, dict) else {OTHER: value[:LONGEST_OTHER]}


def size_of_detail() -> Length:
    """Return how many characters a row's detail has, as a part of a query."""
    return Length(Cast("detail", models.TextField()))


def short_detail() -> models.Case:
    """Return a row's detail where it is short, as a part of a query; None where it is not."""
    is_short: Any = LessThanOrEqual(size_of_detail(), LONGEST_LISTED)
    return models.Case(models.When(is_short, then=models.F("detail")), output_field=Detail())
