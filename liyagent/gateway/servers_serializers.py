"""Servers and tools as the API takes and shows them; tokens and secrets by the names of their variables only."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.gateway.diff import changes_of
from liyagent.gateway.models import EffectChoice, KeyPlaceChoice, Tool, ToolServer, Transport
from liyagent.gateway.states import catalogue_state, in_doubt_of, server_state, tool_state

ANY_OBJECT = {"type": "object", "additionalProperties": True, "nullable": True}


@extend_schema_field(ANY_OBJECT)
class AnyObject(serializers.JSONField):
    """An object of any names, or null."""


class OAuthShape(serializers.Serializer[Any]):
    """Client credentials; `secret_env` names the variable that holds the secret."""

    token_url = serializers.CharField()
    client_id = serializers.CharField()
    secret_env = serializers.CharField()
    scope = serializers.CharField(required=False, allow_blank=True)


class KeyShape(serializers.Serializer[Any]):
    """Where the step key goes, and for how many seconds the vendor dedupes on it (0: it only stores it)."""

    place = serializers.ChoiceField(choices=KeyPlaceChoice.choices, required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    window = serializers.IntegerField(min_value=0, required=False)


class ContractShape(serializers.Serializer[Any]):
    """What is held true of a tool; in a change, what is left out stays."""

    effect = serializers.ChoiceField(choices=EffectChoice.choices, required=False)
    key = KeyShape(required=False)
    reader = AnyObject(required=False, allow_null=True)
    undo = AnyObject(required=False, allow_null=True)
    permission = serializers.CharField(required=False, allow_blank=True)
    timeout = serializers.FloatField(required=False)
    limit = serializers.IntegerField(min_value=1, required=False)


class ServerInput(serializers.Serializer[Any]):
    """A declaration, as in YAML and without `key`; `gateway.declare` checks it. What is left out stays."""

    name = serializers.CharField(required=False, allow_blank=True)
    transport = serializers.ChoiceField(choices=Transport.choices, required=False)
    url = serializers.CharField(required=False, allow_blank=True)
    command = serializers.CharField(required=False, allow_blank=True)
    bearer_env = serializers.CharField(required=False, allow_blank=True)
    oauth = OAuthShape(required=False, allow_null=True)
    vendor = serializers.CharField(required=False, allow_blank=True)
    is_enabled = serializers.BooleanField(required=False)
    tools = serializers.DictField(child=ContractShape(), required=False)


class ServerSerializer(serializers.ModelSerializer[ToolServer]):
    """A server as it stands, with its state and that of its catalogue in words."""

    oauth = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()
    catalogue = serializers.SerializerMethodField()

    class Meta:
        model = ToolServer
        fields = (
            "key",
            "name",
            "transport",
            "url",
            "command",
            "bearer_env",
            "oauth",
            "vendor",
            "is_enabled",
            "state",
            "catalogue",
            "catalogue_read_at",
            "catalogue_error",
            "catalogue_error_since",
        )
        read_only_fields = fields

    @extend_schema_field(OAuthShape(allow_null=True))
    def get_oauth(self, server: ToolServer) -> dict[str, str] | None:
        """Return where its token is fetched, None where it is not."""
        if not server.oauth_token_url:
            return None
        return {
            "token_url": server.oauth_token_url,
            "client_id": server.oauth_client_id,
            "secret_env": server.oauth_secret_env,
            "scope": server.oauth_scope,
        }

    def get_state(self, server: ToolServer) -> str:
        """Return `enabled` or `disabled`."""
        return server_state(server)

    def get_catalogue(self, server: ToolServer) -> str:
        """Return the state of its catalogue in words."""
        return catalogue_state(server)


class ServerPage(serializers.Serializer[Any]):
    """Servers by key; `next` is null on the last page."""

    servers = ServerSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class SyncedSerializer(serializers.Serializer[Any]):
    """What a reading of a catalogue found."""

    server = serializers.CharField()
    offered = serializers.ListField(child=serializers.CharField())
    to_approve = serializers.ListField(child=serializers.CharField())
    gone = serializers.ListField(child=serializers.CharField())


class RemovedSerializer(serializers.Serializer[Any]):
    """What was lost with a removed server, in words."""

    lost = serializers.ListField(child=serializers.CharField())


class ToolItemSerializer(serializers.ModelSerializer[Tool]):
    """A tool in a list; `in_doubt`: what becomes of such a write, "" for a read."""

    server = serializers.CharField(source="server.key")
    state = serializers.SerializerMethodField()
    in_doubt = serializers.SerializerMethodField()
    contract = serializers.SerializerMethodField()

    class Meta:
        model = Tool
        fields: tuple[str, ...] = (
            "server",
            "name",
            "state",
            "is_offered",
            "is_approved",
            "fingerprint",
            "in_doubt",
            "contract",
        )
        read_only_fields = fields

    def get_state(self, tool: Tool) -> str:
        """Return whether it is offered and approved, in words."""
        return tool_state(tool)

    def get_in_doubt(self, tool: Tool) -> str:
        """Return what becomes of a write of unknown outcome."""
        return in_doubt_of(tool)

    @extend_schema_field(ContractShape)
    def get_contract(self, tool: Tool) -> dict[str, Any]:
        """Return the contract as it is written in YAML."""
        return {
            "effect": tool.effect,
            "key": {
                "place": tool.key_place,
                "field": tool.key_field,
                "window": tool.key_window_seconds,
            },
            "reader": tool.reader,
            "undo": tool.undo,
            "permission": tool.permission,
            "timeout": tool.timeout_seconds,
            "limit": tool.limit_bytes,
        }


class ToolSerializer(ToolItemSerializer):
    """A tool with what its server says of it, and what of that changed since it was approved."""

    schema = serializers.DictField(read_only=True)
    hints = serializers.DictField(read_only=True)
    changes = serializers.SerializerMethodField()

    class Meta(ToolItemSerializer.Meta):
        fields = (
            *ToolItemSerializer.Meta.fields,
            "description",
            "schema",
            "hints",
            "approved_fingerprint",
            "changes",
        )
        read_only_fields = fields

    def get_changes(self, tool: Tool) -> str:
        """Return a unified diff, "" where nothing changed."""
        return changes_of(tool)


class ToolPage(serializers.Serializer[Any]):
    """Tools by name; `next` is null on the last page."""

    tools = ToolItemSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ApproveInput(StrictSerializer):
    """The fingerprint of what was looked at; anything else is not approved."""

    fingerprint = Words(max_length=64)
