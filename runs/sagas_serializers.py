"""What the API takes in about sagas, and how it shows one."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from runs.serializers import LONGEST_REASON
from sagas.serializers import LISTED, SagaSerializer


class CompensateInput(StrictSerializer):
    """Why what is owed is undone now: kept in the audit log."""

    reason = Words(required=False, allow_blank=True, max_length=LONGEST_REASON)


class SagaCloseInput(StrictSerializer):
    """Why nothing more is undone: one line, kept with the saga and in the audit log."""

    reason = Words(max_length=LONGEST_REASON)


class UndoSerializer(serializers.Serializer[Any]):
    """How one write is undone, and what came of it. `args` and `error` are for those who may read words."""

    order = serializers.IntegerField(help_text="Undone from the highest down.")
    write = serializers.CharField(help_text="`server/tool` of the write.")
    undo = serializers.CharField(help_text="`server/tool` of what undoes it.")
    run_id = serializers.UUIDField()
    step = serializers.IntegerField()
    index = serializers.IntegerField()
    agent = serializers.CharField()
    key = serializers.CharField()
    fate = serializers.CharField(help_text="owed, done, held, failed, unknown or missing.")
    tries = serializers.IntegerField()
    approval = serializers.UUIDField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    registered_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)
    args = serializers.JSONField(required=False)
    error = serializers.CharField(required=False, allow_blank=True)


class UnknownWriteSerializer(serializers.Serializer[Any]):
    """A write of the family of which nobody knows whether it took effect."""

    run_id = serializers.UUIDField()
    step = serializers.IntegerField()
    index = serializers.IntegerField()
    server = serializers.CharField()
    tool = serializers.CharField()
    step_key = serializers.CharField(allow_blank=True)
    late_finding = serializers.CharField(allow_blank=True)


class BareWriteSerializer(serializers.Serializer[Any]):
    """A write of the ended family that was done and that no undo is known of: it stands."""

    id = serializers.IntegerField()
    run_id = serializers.UUIDField()
    step = serializers.IntegerField()
    index = serializers.IntegerField()
    server = serializers.CharField()
    tool = serializers.CharField()
    settled_at = serializers.DateTimeField(allow_null=True)


class RoundSerializer(serializers.Serializer[Any]):
    """A run that made undos."""

    id = serializers.UUIDField()
    round = serializers.IntegerField()
    status = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class FiledSerializer(serializers.Serializer[Any]):
    """What was put before a person: a request or a ticket, how it stands, and the run that was begun again on it.

    `thread` is that of the hand-off: every version, and who read which. Null where it was filed before hand-offs were kept.
    `handoff_problem`: why `handoff_digest` does not verify, empty where it does.
    """

    kind = serializers.CharField()
    id = serializers.CharField()
    thread = serializers.UUIDField(allow_null=True)
    handoff_problem = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    status = serializers.CharField(allow_blank=True)
    begun_again = serializers.UUIDField(allow_null=True)


class SagaToldSerializer(SagaSerializer):
    """A saga with its undos, a page of them: `next` leads to older ones until it is null. `counts` is of all, by fate.

    `context`, what was kept of the run as it ended, is for those who may read words.
    """

    counts = serializers.DictField(child=serializers.IntegerField())
    undos = UndoSerializer(many=True)
    next = serializers.CharField(allow_null=True)
    unknown_writes = UnknownWriteSerializer(many=True)
    unknown_writes_truncated = serializers.BooleanField()
    writes_without_undo = BareWriteSerializer(many=True)
    writes_without_undo_truncated = serializers.BooleanField()
    rounds = RoundSerializer(many=True)
    filed = FiledSerializer(allow_null=True)
    context = serializers.DictField(required=False)  # type: ignore[assignment]  # a field of this name, as DRF allows

    class Meta(SagaSerializer.Meta):
        fields: tuple[str, ...] = (
            *LISTED, "counts", "undos", "next", "unknown_writes", "unknown_writes_truncated",
            "writes_without_undo", "writes_without_undo_truncated", "rounds", "filed", "context",
        )  # fmt: skip
        read_only_fields = fields
