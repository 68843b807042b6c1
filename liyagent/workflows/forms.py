"""How the console takes a workflow: its definition as text, and each problem beside its field. Nothing typed is lost."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from liyagent.core.errors import BadInput
from liyagent.core.tables import visible
from liyagent.workflows.load import in_order, parse_text, to_yaml
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import checked

MOST_TOLD = 20
FIELDS = ("key", "name", "agent", "is_enabled", "definition")
EXAMPLE = """steps:
  - id: issue
    type: tool
    server: jira
    tool: create_issue
    args: {summary: "{{ input.title }}"}
    compensate: {tool: delete_issue, args: {issue_key: {$expr: steps.issue.output.key}}}
"""


class DefinitionWidget(UnfoldAdminTextareaWidget):  # type: ignore[misc]
    """A large field, as it was typed, without the browser's opinion of its spelling."""

    def __init__(self) -> None:
        super().__init__(attrs={"rows": 28, "spellcheck": "false", "wrap": "off"})


class WorkflowForm(forms.ModelForm[Workflow]):
    """Checks as a file is checked. `version`: where the workflow stood as it was shown."""

    agent = forms.CharField(
        max_length=80,
        widget=UnfoldAdminTextInputWidget(),
        help_text="The key of the agent it belongs to: its runs pass that agent's gates and run as it does.",
    )
    definition = forms.CharField(
        strip=False,
        widget=DefinitionWidget(),
        help_text="YAML, or JSON from an opening bracket on. `manage.py workflows show KEY` tells it step by step.",
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput())

    class Meta:
        model = Workflow
        fields = ("key", "name", "is_enabled")
        widgets: ClassVar = {
            "key": UnfoldAdminTextInputWidget(),
            "name": UnfoldAdminTextInputWidget(),
            "is_enabled": UnfoldBooleanSwitchWidget(),
        }
        labels: ClassVar = {"is_enabled": "Runs of it may start"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row = self.instance
        if row.pk:
            # A key once given stays.
            del self.fields["key"]
            self.initial["agent"] = row.agent.key
            self.initial["definition"] = to_yaml(in_order(row.definition))
            self.initial["version"] = row.version
        else:
            self.initial.setdefault("definition", EXAMPLE)
            self.initial["version"] = 0

    def clean(self) -> dict[str, Any]:
        """Show each problem beside its field, and above all where somebody else saved meanwhile."""
        data = self.cleaned_data
        if "definition" in data:
            try:
                data["definition"] = parse_text(data["definition"])
            except BadInput as error:
                self.add_error("definition", visible(str(error)))
        self._tell(checked(self.given())[1])
        row = self.instance
        if row.pk:
            row = Workflow.objects.only("version", "key").get(pk=row.pk)
            if data.get("version") != row.version:
                self.add_error(
                    None,
                    f"It is at version {row.version} now, and was at {data.get('version')} as you opened it: somebody else "
                    "saved it. What you typed stands below. Open it in another window to see what was changed; to save "
                    "yours in its place, save again.",
                )
                self.data = {**self.data.dict(), "version": str(row.version)}  # type: ignore[attr-defined]  # a QueryDict
        return data

    def given(self) -> dict[str, Any]:
        """Return the form as a workflow to be saved."""
        names = ("name", "agent", "is_enabled", "definition")
        given = {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}
        key = self.instance.key if self.instance.pk else self.cleaned_data.get("key", "")
        return {**given, "key": key}

    def _tell(self, problems: list[tuple[str, str]]) -> None:
        """A field that was refused already says so itself."""
        known = set(self.errors)
        told: dict[str | None, list[str]] = {}
        for path, said in problems:
            if path.startswith("$"):
                told.setdefault("definition", []).append(f"{path}: {said}")
            else:
                told.setdefault(path if path in self.fields else None, []).append(said)
        for field, lines in told.items():
            if field in known:
                continue
            more = len(lines) - MOST_TOLD
            for it in [*lines[:MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]:
                self.add_error(field, visible(it))
