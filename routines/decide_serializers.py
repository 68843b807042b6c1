"""What people do with routines, as the API takes and tells it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.approvals.reason import LONGEST_REASON
from liyagent.core.bodies import StrictSerializer, Words
from routines.serializers import RoutineSerializer

DIGEST = {"required": False, "allow_blank": True, "max_length": 64, "default": ""}
OF_SHOWN = "That of the definition as it was shown; 409 where it is another by now."
LONGEST_PLACE = 2_000


class AdoptInput(StrictSerializer):
    """What is to be adopted."""

    digest = Words(help_text=OF_SHOWN, **DIGEST)


class DismissInput(StrictSerializer):
    """Why it is dismissed."""

    reason = Words(
        required=False, allow_blank=True, max_length=LONGEST_REASON, default="", help_text="One line; kept with your name."
    )  # fmt: skip


class ParameterInput(StrictSerializer):
    """A literal that is to be given with each run."""

    place = Words(
        max_length=LONGEST_PLACE, help_text="As `origins` tells it: a JSON pointer such as `/s2/queue`."
    )  # fmt: skip
    name = Words(
        required=False, allow_blank=True, max_length=64, default="", help_text="Of `input.<name>`; without it one of ours."
    )  # fmt: skip
    digest = Words(help_text=OF_SHOWN, **DIGEST)


class RoutineFiledSerializer(serializers.Serializer[Any]):
    """A routine whose adoption waits for a person, and the request. `is_new`: this very asking filed it."""

    routine = RoutineSerializer()
    approval = serializers.UUIDField()
    digest = serializers.CharField(help_text="What will be saved hashes to it.")
    is_new = serializers.BooleanField()
