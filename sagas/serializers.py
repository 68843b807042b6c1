"""How the API shows sagas: nothing of anybody's words."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sagas.models import Saga, SagaStatus

LISTED = (
    "run_id", "agent", "workflow", "mission", "status", "cause", "failed_step", "registered", "round", "compensating_run",
    "handoff", "handoff_id", "handoff_digest", "handed_off_at", "closed_by", "closed_reason", "closed_at", "created_at", "changed_at",
)  # fmt: skip


class SagaSerializer(serializers.ModelSerializer[Saga]):
    """What a run, its branches and its sub-agents did that can be undone, and where that stands.

    `run_id` is the root's. `cause`: `failed`, `stopped`, `rejected` or `cap`, empty while it is open; `registered` how many undos were
    registered; `round` how many runs have made undos, `compensating_run` the last of them. `handoff_id`: the request or the
    number of the ticket that was filed; `handoff_digest`: what was handed over with it, `GET /api/handoff-snapshots/{digest}`.
    """

    run_id = serializers.UUIDField(source="id")
    agent = serializers.CharField(source="agent_key")
    status = serializers.CharField(help_text=", ".join(SagaStatus.values))

    class Meta:
        model = Saga
        fields: tuple[str, ...] = LISTED
        read_only_fields = fields


class SagaPageSerializer(serializers.Serializer[Any]):
    """A page of sagas. `next` is null at the end of the list, and only there: a page can be short and lead on."""

    sagas = SagaSerializer(many=True)
    next = serializers.CharField(allow_null=True)
