"""What a person sends who tries another model on past runs: the agent's own fields, of which some are changed."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from liyagent.agents.definitions import definition_of
from liyagent.agents.models import Agent
from liyagent.agents.replayed import TRIED
from liyagent.core.tables import visible
from liyagent.providers.client import PROVIDERS
from liyagent.replays.ask import MOST_BASELINE, Wanted, wanted_replay
from liyagent.replays.cohort import MOST_RUNS, RUNS
from liyagent.replays.errors import ReplayInvalid

LONGEST_IDS = 4_000
MOVED = "The agent was saved since this was shown. It is shown again as it stands now: change what shall be tried."
INPUT = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})


class TryForm(forms.Form):
    """The fields of an agent that a replay tries, filled as they stand, and how much is replayed. What is changed is the override."""

    model = forms.CharField(max_length=200, widget=INPUT)
    provider = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    instructions = forms.CharField(
        required=False, strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 6})
    )
    base_url = forms.CharField(required=False, max_length=500, widget=INPUT, label="Base url")
    api_key_env = forms.CharField(
        required=False, max_length=100, widget=INPUT, label="Variable that holds the key"
    )
    limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_RUNS,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
        label="How many of its newest runs",
        help_text=f"1 to {MOST_RUNS}; left empty, {RUNS}. Only ended runs that were recorded in full.",
    )
    runs = forms.CharField(
        required=False,
        max_length=LONGEST_IDS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        label="Or these runs",
        help_text=f"Ids of up to {MOST_RUNS} runs, parted by spaces or lines. Leave the number above empty then.",
    )
    baseline = forms.IntegerField(
        min_value=0,
        max_value=MOST_BASELINE,
        initial=0,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
        label="Also the unchanged agent, so often",
        help_text="A model does not answer twice the same. What the unchanged agent differs in too is noise; each time costs as much again.",
    )
    strict = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        label="Strict",
        help_text="A call with other arguments than any recorded one is told that there is no answer, and not the next answer of that tool.",
    )
    most_calls = forms.IntegerField(
        required=False,
        min_value=0,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
        label="At most so many model calls",
        help_text="Once so many were asked for, no further run is begun. Empty: no bound.",
    )
    most_tokens = forms.IntegerField(
        required=False,
        min_value=0,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
        label="At most so many tokens",
        help_text="As above.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, agent: Agent, *args: Any, **kwargs: Any) -> None:
        """Fill in the agent as it stands."""
        self.agent = agent
        self.stands = {name: definition_of(agent)[name] for name in TRIED}
        kwargs["initial"] = {**self.stands, "version": agent.version, **kwargs.get("initial", {})}
        super().__init__(*args, **kwargs)
        known = sorted({*PROVIDERS, self.stands["provider"]})
        self.fields["provider"].choices = [(it, it) for it in known]  # type: ignore[attr-defined]  # it is a ChoiceField

    def clean_version(self) -> int:
        """Refuse what was filled in for another version: its fields would look like what shall be tried."""
        version: int = self.cleaned_data["version"]
        if version != self.agent.version:
            raise forms.ValidationError(MOVED)
        return version

    def wanted(self, *, may_choose_endpoint: bool) -> Wanted | None:
        """Return what is to be replayed, with what it costs; None where it is refused, and why stands beside the fields."""
        given = self.cleaned_data
        try:
            return wanted_replay(
                self.agent.key,
                override=self._override(),
                runs=given["runs"].replace(",", " ").split() or None,
                limit=given["limit"],
                strict=given["strict"],
                baseline=given["baseline"],
                most_calls=given["most_calls"] or 0,
                most_tokens=given["most_tokens"] or 0,
                may_choose_endpoint=may_choose_endpoint,
            )
        except ReplayInvalid as error:
            for it in error.errors:
                self._refuse(it["field"], it["detail"])
        return None

    def _override(self) -> dict[str, Any]:
        """The fields that are another than the agent has. A browser sends each end of a line as two characters."""
        given = {name: str(self.cleaned_data[name]).replace("\r\n", "\n") for name in TRIED}
        return {name: value for name, value in given.items() if value != self.stands[name]}

    def _refuse(self, path: str, said: str) -> None:
        """Say what is wrong beside the field that it is about."""
        name = path.removeprefix("override.").partition("[")[0].partition(".")[0]
        told = f"{path} {said}" if "[" in path else said
        self.add_error(name if name in self.fields else None, visible(told))
