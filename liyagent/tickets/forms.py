"""What a person sends who works on a ticket. What is wrong with it is said as the verbs say it."""

from __future__ import annotations

from django import forms
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from liyagent.tickets.comment_ticket import LONGEST_COMMENT
from liyagent.tickets.errors import BadTicket
from liyagent.tickets.given import LONGEST_REASON, checked_queue, checked_reason
from liyagent.tickets.models import LONGEST_QUEUE, Priority, TicketState

STATES = [(it.value, it.value.replace("_", " ")) for it in TicketState]


class CommentForm(forms.Form):
    """What is to be written on a ticket."""

    text = forms.CharField(
        label="Comment",
        max_length=LONGEST_COMMENT,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text="It is kept sealed, with your name, and stays.",
    )


class ChangeForm(forms.Form):
    """A change of the ticket as it was shown at `revision`."""

    state = forms.ChoiceField(
        choices=STATES, widget=UnfoldAdminSelectWidget, help_text="Closed is the end."
    )
    priority = forms.ChoiceField(choices=Priority.choices, widget=UnfoldAdminSelectWidget)
    queue = forms.CharField(
        max_length=LONGEST_QUEUE, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    )
    reason = forms.CharField(
        required=False,
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="It is kept in the audit log, with your name; it may be empty.",
    )
    revision = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_queue(self) -> str:
        """Return the queue as it is kept."""
        try:
            return checked_queue(self.cleaned_data["queue"])
        except BadTicket as error:
            raise forms.ValidationError(error.detail) from None

    def clean_reason(self) -> str:
        """Return the reason as it is kept."""
        try:
            return checked_reason(self.cleaned_data["reason"])
        except BadTicket as error:
            raise forms.ValidationError(error.detail) from None
