"""Form fields of the console that let in what the database takes, and say what was wrong with the rest."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from liyagent.core.plain import NotStorable, parse_json


class PlainJSONField(forms.JSONField):
    """JSON made storable (ruling 19): NaN as text, no nesting beyond 100, no number beyond 4,300 digits."""

    def to_python(self, value: Any) -> Any:
        """Return the value. Raises `ValidationError`."""
        if not self.disabled and isinstance(value, str) and value not in self.empty_values:
            try:
                return parse_json(value)
            except NotStorable as error:
                raise ValidationError(f"cannot be used: {error}") from error
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what the field shows again: what was typed, where it is no JSON to be used."""
        if self.disabled or data is None:
            return super().bound_data(data, initial)
        try:
            return parse_json(data)
        except NotStorable:
            return InvalidJSONInput(data)
