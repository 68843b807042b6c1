"""What a person sends who decides: why, and about exactly what was shown. A refused form keeps what was typed."""

from __future__ import annotations

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from liyagent.approvals.errors import BadReason
from liyagent.approvals.reason import LONGEST_REASON, checked_reason

LINE = f"One line, at most {LONGEST_REASON} characters. It is kept with your name"
HELP = {
    "approve": f"{LINE}.",
    "reject": f"{LINE}, and the agent is told it.",
    "withdraw": f"{LINE}, and the agent is told it.",
}


class WithdrawalForm(forms.Form):
    """Why it is decided so. What is wrong with it is said as the verb says it: no length is cut by the browser."""

    reason = forms.CharField(
        label="Why",
        required=False,
        strip=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "required": True}),
    )

    def clean_reason(self) -> str:
        """Return the reason as it is kept."""
        try:
            return checked_reason(self.cleaned_data["reason"])
        except BadReason as error:
            raise forms.ValidationError(error.detail) from None


class DecisionForm(WithdrawalForm):
    """As above, about exactly what was shown."""

    digest = forms.CharField(max_length=64, widget=forms.HiddenInput)


def errors_of(form: forms.Form) -> list[str]:
    """Return what is wrong with a form that was sent, in sentences."""
    return [
        text if name == "reason" else f"{name}: {text}"
        for name, texts in form.errors.items()
        for text in map(str, texts)
    ]
