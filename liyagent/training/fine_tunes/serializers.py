"""What is asked of a fine-tuning."""

from __future__ import annotations

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.training.fine_tunes.ask import LONGEST_MODEL, PROVIDER


class FineTuneInput(StrictSerializer):
    """Which agent, from which model, where, and of which time."""

    agent = Words(max_length=80)
    model = Words(max_length=LONGEST_MODEL, help_text="What is tuned, as the endpoint calls it.")
    provider = serializers.ChoiceField(choices=[PROVIDER], default=PROVIDER)
    endpoint_of = Words(
        max_length=80,
        required=False,
        default="",
        help_text="The agent of provider `openai` whose endpoint and key are used; by default the agent itself, or the only one.",
    )
    since = Words(
        max_length=40, required=False, default="", help_text="A day, or a moment with its zone."
    )
    until = Words(
        max_length=40, required=False, default="", help_text="By default now; not included."
    )
