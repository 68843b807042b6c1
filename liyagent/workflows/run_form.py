"""How the console takes the input of a run: filled in as far as the workflow's own schema says, and once a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from liyagent.core.forms import PlainJSONField
from liyagent.workflows.models import Workflow

BLANKS: Mapping[str, Any] = {
    "string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}, "null": None,
}  # fmt: skip


class RunForm(forms.Form):
    """`once`: a page that is sent twice starts one run."""

    input = PlainJSONField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 12, "spellcheck": "false"}),
        help_text="JSON, as the workflow's own schema wants it.",
    )
    once = forms.UUIDField(widget=forms.HiddenInput())

    def __init__(self, workflow: Workflow, data: Any = None) -> None:
        blank = blank_of(workflow.definition.get("input"))
        super().__init__(data, initial={"input": blank, "once": uuid4()})

    def given(self) -> Any:
        """Return the input; nothing typed is an empty object."""
        return {} if self.cleaned_data["input"] is None else self.cleaned_data["input"]


def blank_of(schema: Any) -> dict[str, Any]:
    """Return an input with all names that a schema wants, each to be filled in."""
    if not isinstance(schema, Mapping):
        return {}
    properties, wanted = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    names = [it for it in wanted if isinstance(it, str)] if isinstance(wanted, list) else []
    return {name: _blank(known.get(name)) for name in names}


def _blank(schema: Any) -> Any:
    told = schema.get("type") if isinstance(schema, Mapping) else None
    first = told[0] if isinstance(told, list) and told else told
    return BLANKS.get(first, "") if isinstance(first, str) else ""
