"""`manage.py servers`: the tool servers, and reading what they offer."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.gateway import wire
from liyagent.gateway.check import ServerAmiss, check_server
from liyagent.gateway.commands import registered_commands
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import BY_ADDRESS, ToolServer, Transport
from liyagent.gateway.servers import find_server, load_servers, remove_server, switch_server
from liyagent.gateway.states import catalogue_state, server_state
from liyagent.gateway.sync import Synced, sync_server

COMMAND_HEADS = ("COMMAND", "STARTS", "VARIABLES", "DIRECTORY")
NO_COMMANDS = (
    "no command is registered here; LIYAGENT_COMMANDS_FILE names the file that registers them"
)
LIST_HEADS = ("SERVER", "STATE", "WHERE", "TOOLS", "CATALOGUE")


class Command(BaseCommand):
    """List, add, load, read, check, switch and remove tool servers."""

    help = "Tool servers: list | add KEY URL | sync KEY | check [KEY] | enable KEY | disable KEY | remove KEY | load FILE.yaml | commands"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every server, its tools and its last reading")
        add = verbs.add_parser("add", help="add a server by its address and read its catalogue")
        add.add_argument("key")
        add.add_argument("url")
        add.add_argument(
            "--transport",
            default=Transport.HTTP.value,
            choices=[it.value for it in BY_ADDRESS],
            help="a2a: the address is that of an agent's card",
        )
        add.add_argument("--bearer-env", default="", help="environment variable with its token")
        sync = verbs.add_parser("sync", help="read the catalogue of a server again")
        sync.add_argument("key")
        check = verbs.add_parser(
            "check",
            help="whether each can be reached, and offers what was approved; changes nothing",
        )
        check.add_argument("key", nargs="?")
        for verb, what in (
            ("enable", "let calls reach a server"),
            ("disable", "let no call reach it"),
        ):
            verbs.add_parser(verb, help=what).add_argument("key")
        remove = verbs.add_parser("remove", help="forget a server, its tools and their contracts")
        remove.add_argument("key")
        load = verbs.add_parser("load", help="keep the servers and contracts of a YAML file")
        load.add_argument("file")
        load.add_argument("--sync", action="store_true", help="then read their catalogues")
        verbs.add_parser("commands", help="the registered commands that a server by stdio may name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says, and shut the connections it opened."""
        verbs = {
            "list": self._list,
            "add": self._add,
            "sync": self._sync,
            "check": self._check,
            "enable": self._switch,
            "disable": self._switch,
            "remove": self._remove,
            "load": self._load,
            "commands": self._commands,
        }
        try:
            verbs[options["verb"]](options)
        finally:
            wire.close_all()

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            (
                server.key,
                server_state(server),
                server.url or server.command or server.get_transport_display(),
                sum(tool.is_offered for tool in server.tools.all()),
                catalogue_state(server),
            )
            for server in ToolServer.objects.prefetch_related("tools")
        ]
        self.stdout.write(aligned(LIST_HEADS, rows))

    def _add(self, options: dict[str, Any]) -> None:
        written = {name: options[name] for name in ("key", "url", "bearer_env", "transport")}
        document = {"servers": [written]}
        self._read(load_servers(document, actor=operator_name()), kept="added")

    def _sync(self, options: dict[str, Any]) -> None:
        self._read([find_server(options["key"])])

    def _remove(self, options: dict[str, Any]) -> None:
        lost = remove_server(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: removed, with its tools and their contracts")
        for what in lost:
            self.stdout.write(visible(f"  lost with it: {what}"))

    def _switch(self, options: dict[str, Any]) -> None:
        to_enabled = options["verb"] == "enable"
        server = switch_server(options["key"], to_enabled=to_enabled, actor=operator_name())
        self.stdout.write(f"{server.key}: {server_state(server)}")

    def _check(self, options: dict[str, Any]) -> None:
        """Look at one server, or at all; fail at the end where one is not as it should be."""
        key = options["key"]
        servers = [find_server(key)] if key else ToolServer.objects.filter(is_enabled=True)
        amiss = []
        for server in servers:
            checked = check_server(server)
            for line in checked.lines:
                self.stdout.write(visible(f"{server.key}: {line}"))
            amiss += [server.key] if checked.is_amiss else []
        if amiss:
            raise ServerAmiss(f"not as it should be: {', '.join(amiss)}")

    def _load(self, options: dict[str, Any]) -> None:
        file = options["file"]
        try:
            servers = load_servers(parse_yaml(read_text(file)), actor=operator_name())
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from error
        self.stdout.write(f"kept: {', '.join(server.key for server in servers)}")
        if options["sync"]:
            self._read(servers, kept="kept")

    def _commands(self, options: dict[str, Any]) -> None:
        rows = [
            (it.name, it.line, ", ".join(it.env), it.cwd) for it in registered_commands().values()
        ]
        self.stdout.write(aligned(COMMAND_HEADS, rows) if rows else NO_COMMANDS)

    def _read(self, servers: list[ToolServer], *, kept: str = "") -> None:
        """Read every catalogue, then fail where one could not be read: a script has to notice."""
        read = [sync_server(server, actor=operator_name()) for server in servers]
        for synced in read:
            if not synced.error:
                self._tell(synced)
        errors = [
            _unread(server, synced.error, kept)
            for server, synced in zip(servers, read, strict=True)
            if synced.error
        ]
        if errors:
            raise CatalogueUnreadable("; ".join(errors))

    def _tell(self, synced: Synced) -> None:
        self.stdout.write(
            visible(f"{synced.server}: offers {', '.join(synced.offered) or 'nothing'}")
        )
        for name in synced.to_approve:
            self.stdout.write(
                visible(f"  held until `manage.py tools approve {synced.server}/{name}`")
            )
        for name in synced.gone:
            self.stdout.write(visible(f"  no longer offered: {name}"))


def _unread(server: ToolServer, error: str, kept: str) -> str:
    """Say what became of the server, and whether it still has the catalogue of an earlier reading."""
    told = (
        f"{kept}, but its catalogue could not be read"
        if kept
        else "its catalogue could not be read"
    )
    stands = "; the last catalogue stands" if server.catalogue_read_at else ""
    return f"{told}: {error}{stands}"
