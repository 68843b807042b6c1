"""Tool servers, what we hold true of their tools, and the Cedar policies that judge calls."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from liyagent.agents.sub_agents import SERVER
from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.environment import OUR_OWN, is_secret_name
from liyagent.core.errors import BadInput
from liyagent.gateway.commands import NAME_WANTS, is_command_name
from liyagent.gateway.data_rules import read_path, read_regex
from liyagent.gateway.outcome import Effect, KeyPlace
from liyagent.gateway.policies import check_policies
from liyagent.gateway.readers import read_reader
from liyagent.gateway.vendor_facts import known_vendors, vendor_facts

# With a dot, so that it is never one of the permissions that Django makes for a table.
NAME_TAKEN = "that is where agents stand as tools; it wants another name"
TOOL_PERMISSION = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")


class Transport(models.TextChoices):
    """How a server is reached."""

    HTTP = "http", "HTTP"
    STDIO = "stdio", "a registered command (stdio)"
    LOCAL = "local", "in this process"
    A2A = "a2a", "an agent's card (A2A)"


# Reached at an address, with a token of ours.
BY_ADDRESS = (Transport.HTTP, Transport.A2A)
BY_MCP = (Transport.HTTP, Transport.STDIO)


class EffectChoice(models.TextChoices):
    """`Effect` as a column: unknown means write."""

    READ = Effect.READ.value, "read"
    WRITE = Effect.WRITE.value, "write"


class KeyPlaceChoice(models.TextChoices):
    """`KeyPlace` as a column."""

    NONE = KeyPlace.NONE.value, "takes no key"
    ARGUMENT = KeyPlace.ARGUMENT.value, "an argument"
    META = KeyPlace.META.value, "request _meta"
    MESSAGE_ID = KeyPlace.MESSAGE_ID.value, "a message's id"


# An agent is sent no arguments; a tool server no message.
MCP_PLACES = (KeyPlaceChoice.NONE, KeyPlaceChoice.ARGUMENT, KeyPlaceChoice.META)
KEY_PLACES = {Transport.A2A.value: (KeyPlaceChoice.NONE, KeyPlaceChoice.MESSAGE_ID)}


class ToolServer(models.Model):
    """A server of tools. Its secret is named by environment variable, never stored (ruling 35).

    `command` is a registered name, never a command line. With an `oauth_token_url` the token is fetched
    with client credentials, else `bearer_env` names it. `vendor` names an entry of the vendor facts.
    """

    key = models.SlugField(unique=True)
    name = models.CharField(max_length=200, blank=True)
    transport = models.CharField(max_length=10, choices=Transport.choices, default=Transport.HTTP)
    url = models.CharField(max_length=2000, blank=True)
    command = models.CharField(max_length=80, blank=True)
    bearer_env = models.CharField(max_length=200, blank=True)
    oauth_token_url = models.CharField(max_length=2000, blank=True)
    oauth_client_id = models.CharField(max_length=200, blank=True)
    oauth_secret_env = models.CharField(max_length=200, blank=True)
    oauth_scope = models.CharField(max_length=500, blank=True)
    vendor = models.CharField(max_length=40, blank=True)
    is_enabled = models.BooleanField(default=True)
    catalogue_read_at = models.DateTimeField(null=True, blank=True)
    catalogue_error = models.TextField(blank=True)
    catalogue_error_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        """An HTTP server has an address, an agent that of its card, one by stdio a command, a local one neither."""

        ordering = ["key"]
        constraints = [
            models.CheckConstraint(
                name="gateway_server_transport", condition=Q(transport__in=Transport.values)
            ),
            models.CheckConstraint(
                name="gateway_server_url_fits_transport",
                condition=(Q(transport__in=BY_ADDRESS, command="") & ~Q(url=""))
                | (Q(transport=Transport.STDIO, url="") & ~Q(command=""))
                | Q(transport=Transport.LOCAL, url="", command=""),
            ),
            models.CheckConstraint(
                name="gateway_server_one_token",
                condition=Q(oauth_token_url="", oauth_client_id="", oauth_secret_env="")
                | (
                    Q(transport__in=BY_ADDRESS, bearer_env="")
                    & ~Q(oauth_token_url="")
                    & ~Q(oauth_client_id="")
                    & ~Q(oauth_secret_env="")
                ),
                violation_error_message=(
                    "OAuth wants a token URL, a client id and the variable of its secret, on an HTTP server or an agent, "
                    "and no bearer variable beside them."
                ),
            ),
        ]

    def __str__(self) -> str:
        """Return the key."""
        return self.key

    def clean(self) -> None:
        """Refuse an address, a command or a variable name that cannot work, and the name that agents have as tools."""
        if self.key == SERVER:
            raise ValidationError({"key": NAME_TAKEN})
        has_address, is_stdio = self.transport in BY_ADDRESS, self.transport == Transport.STDIO
        if has_address and not is_web_address(self.url):
            raise ValidationError({"url": f"wants {WEB_ADDRESS}"})
        if not has_address and self.url:
            raise ValidationError({"url": "only an HTTP server or an agent has an address"})
        if is_stdio and not is_command_name(self.command):
            raise ValidationError({"command": f"wants {NAME_WANTS}"})
        if not is_stdio and self.command:
            raise ValidationError({"command": "only a server by stdio has a command"})
        if self.oauth_token_url and not is_web_address(self.oauth_token_url):
            raise ValidationError({"oauth_token_url": f"wants {WEB_ADDRESS}"})
        if self.vendor and self.vendor not in vendor_facts():
            raise ValidationError({"vendor": known_vendors()})
        if self.bearer_env and not has_address:
            raise ValidationError({"bearer_env": "only an HTTP server or an agent takes a token"})
        for name in ("bearer_env", "oauth_secret_env"):
            if getattr(self, name) and not is_secret_name(getattr(self, name)):
                what = "token" if name == "bearer_env" else "secret"
                wants = (
                    f"wants the name of an environment variable, never the {what} itself, "
                    f"and none that begins with {', '.join(OUR_OWN)}"
                )
                raise ValidationError({name: wants})


class Tool(models.Model):
    """A tool of a server: what the server tells of it, and the contract we make calls under (ruling 21)."""

    server = models.ForeignKey(ToolServer, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    schema = models.JSONField(default=dict, blank=True)
    hints = models.JSONField(default=dict, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    approved_fingerprint = models.CharField(max_length=64, blank=True)
    approved = models.JSONField(
        null=True, blank=True, help_text="The description and schema that were approved."
    )
    is_offered = models.BooleanField(default=True)
    effect = models.CharField(
        max_length=10, choices=EffectChoice.choices, default=EffectChoice.WRITE
    )
    key_place = models.CharField(
        max_length=10, choices=KeyPlaceChoice.choices, default=KeyPlaceChoice.NONE
    )
    key_field = models.CharField(max_length=200, blank=True)
    key_window_seconds = models.PositiveIntegerField(default=0)
    reader = models.JSONField(null=True, blank=True)
    undo = models.JSONField(null=True, blank=True)
    permission = models.CharField(
        max_length=100, blank=True, help_text="What its run-as principal must hold; empty: nothing."
    )
    timeout_seconds = models.FloatField(default=30.0, validators=[MinValueValidator(0.05)])
    limit_bytes = models.PositiveIntegerField(default=1 << 20, validators=[MinValueValidator(1)])

    class Meta:
        """One row a tool; a key is a place, a field where it is an argument, and a window."""

        ordering = ["server__key", "name"]
        permissions = [("call_tool", "Can call a tool directly, without a run")]
        constraints = [
            models.UniqueConstraint(name="gateway_one_tool_per_name", fields=["server", "name"]),
            models.CheckConstraint(
                name="gateway_tool_effect", condition=Q(effect__in=EffectChoice.values)
            ),
            models.CheckConstraint(
                name="gateway_tool_key",
                condition=(
                    Q(key_place=KeyPlaceChoice.NONE, key_field="", key_window_seconds=0)
                    | (Q(key_place=KeyPlaceChoice.ARGUMENT) & ~Q(key_field=""))
                    | Q(
                        key_place__in=[KeyPlaceChoice.META, KeyPlaceChoice.MESSAGE_ID], key_field=""
                    )
                ),
                violation_error_message=(
                    "A key wants place `argument` with a field, or `meta` or `message_id` without, and the seconds that the "
                    "vendor dedupes on it (0: it only stores it); place `none` wants neither."
                ),
            ),
            models.CheckConstraint(
                name="gateway_tool_limits",
                condition=Q(timeout_seconds__gt=0) & Q(limit_bytes__gt=0),
            ),
        ]

    def __str__(self) -> str:
        """Return `server/tool`."""
        return f"{self.server.key}/{self.name}"

    @property
    def is_approved(self) -> bool:
        """Whether an operator approved the schema and description that the server tells now."""
        return self.fingerprint == self.approved_fingerprint

    def clean(self) -> None:
        """Refuse a reader or an undo of the wrong shape."""
        try:
            read_reader(self.reader)
        except BadInput as error:
            raise ValidationError({"reader": str(error)}) from error
        if self.key_place not in KEY_PLACES.get(self.server.transport, MCP_PLACES):
            raise ValidationError(
                {"key_place": "message_id is where agents take a key, and only there"}
            )
        if self.undo is not None and not isinstance(self.undo, dict):
            raise ValidationError({"undo": "wants an object, or nothing"})
        if self.permission and not TOOL_PERMISSION.fullmatch(self.permission):
            raise ValidationError(
                {"permission": "wants words joined by dots, such as jira.write, or nothing"}
            )


class Policy(models.Model):
    """One version of the Cedar policy set. At most one is active; with none active every call is refused."""

    name = models.CharField(max_length=200)
    version = models.PositiveIntegerField()
    text = models.TextField()
    is_active = models.BooleanField(default=False)
    created_by = models.CharField(max_length=150, blank=True, db_default="", default="")
    note = models.CharField(max_length=500, blank=True, db_default="", default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        """Versions of a name are numbered; one row of all is active."""

        ordering = ["name", "-version"]
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(
                name="gateway_one_policy_per_version", fields=["name", "version"]
            ),
            models.UniqueConstraint(
                name="gateway_one_active_policy",
                fields=["is_active"],
                condition=Q(is_active=True),
                violation_error_message="Another policy is active: deactivate it first, or use `manage.py policies load`.",
            ),
        ]

    def __str__(self) -> str:
        """Return the name and version."""
        return f"{self.name} v{self.version}"

    def clean(self) -> None:
        """Refuse text that Cedar refuses, with the line."""
        try:
            check_policies(self.text)
        except BadInput as error:
            raise ValidationError({"text": str(error)}) from error


class DataKind(models.TextChoices):
    """What a data policy looks for. REGEX: its own regular expression."""

    EMAIL = "email", "e-mail address"
    PHONE = "phone", "phone number"
    IBAN = "iban", "IBAN"
    CARD = "card", "card number"
    REGEX = "regex", "regular expression"


class DataAction(models.TextChoices):
    """What happens to a call whose arguments hold it."""

    MASK = "mask"
    DENY = "deny"


class DataPolicy(models.Model):
    """What may not leave in a call's arguments: a pattern, where in them, to which tools, and what then.

    `path` is a dotted path in the arguments (`*`: anywhere in them); `tools` a pattern as agents have
    them. The masked call is what is digested, keyed and sent.
    """

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=10, choices=DataKind.choices)
    regex = models.CharField(max_length=500, blank=True)
    path = models.CharField(max_length=200, default="*")
    tools = models.CharField(max_length=300, default="*")
    action = models.CharField(max_length=10, choices=DataAction.choices, default=DataAction.DENY)
    is_enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        """A regular expression stands where the kind is one, and nowhere else."""

        ordering = ["name"]
        verbose_name_plural = "data policies"
        constraints = [
            models.CheckConstraint(
                name="gateway_data_policy_kind", condition=Q(kind__in=DataKind.values)
            ),
            models.CheckConstraint(
                name="gateway_data_policy_action", condition=Q(action__in=DataAction.values)
            ),
            models.CheckConstraint(
                name="gateway_data_policy_regex",
                condition=(Q(kind=DataKind.REGEX) & ~Q(regex=""))
                | (~Q(kind=DataKind.REGEX) & Q(regex="")),
                violation_error_message="A regular expression is wanted where the kind is regex, and only there.",
            ),
        ]

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def clean(self) -> None:
        """Refuse a path or an expression that cannot be used."""
        checks: list[tuple[str, str, Callable[[str], object]]] = [("path", self.path, read_path)]
        if self.kind == DataKind.REGEX:
            checks.append(("regex", self.regex, read_regex))
        for name, value, read in checks:
            try:
                read(value)
            except BadInput as error:
                raise ValidationError({name: str(error)}) from error
