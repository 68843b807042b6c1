"""A field of the console is seen: the theme gives those of Django's own kind neither frame nor ground."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.contrib import admin

ROOMS = ("events", "handoffs", "liyagent", "missions", "routines", "runs", "sagas")


def kinds(form: type[forms.Form]) -> Iterator[type[forms.Form]]:
    """All forms that are made of one."""
    for it in form.__subclasses__():
        yield it
        yield from kinds(it)


def test_no_form_of_ours_has_a_field_that_nobody_sees() -> None:
    admin.autodiscover()
    ours = {it for it in kinds(forms.Form) if it.__module__.split(".")[0] in ROOMS}
    assert len(ours) > 10
    bare = [
        f"{form.__module__}.{form.__qualname__}.{name}"
        for form in ours
        for name, field in form.base_fields.items()
        if type(field.widget).__module__ == "django.forms.widgets" and not field.widget.is_hidden
    ]
    assert sorted(set(bare)) == []
