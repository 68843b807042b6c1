"""`manage.py servers`: the tool servers, and reading what they offer."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text
from liyagent.core.operator import operator_name
from liyagent.core.tables import visible
from liyagent.gateway import wire
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import ToolServer
from liyagent.gateway.servers import find_server, load_servers
from liyagent.gateway.sync import Synced, sync_server


class Command(BaseCommand):
    """List, add, load and read tool servers."""

    help = "Tool servers: list | add KEY URL | sync KEY | load FILE.yaml"

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every server, its tools and its last reading")
        add = verbs.add_parser("add", help="add an HTTP server and read its catalogue")
        add.add_argument("key")
        add.add_argument("url")
        add.add_argument("--bearer-env", default="", help="environment variable with its token")
        sync = verbs.add_parser("sync", help="read the catalogue of a server again")
        sync.add_argument("key")
        load = verbs.add_parser("load", help="keep the servers and contracts of a YAML file")
        load.add_argument("file")
        load.add_argument("--sync", action="store_true", help="then read their catalogues")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says, and shut the connections it opened."""
        verbs = {"list": self._list, "add": self._add, "sync": self._sync, "load": self._load}
        try:
            verbs[options["verb"]](options)
        finally:
            wire.close_all()

    def _list(self, options: dict[str, Any]) -> None:
        for server in ToolServer.objects.prefetch_related("tools"):
            offered = sum(tool.is_offered for tool in server.tools.all())
            state = "enabled" if server.is_enabled else "disabled"
            where = server.url or server.get_transport_display()
            self.stdout.write(
                visible(f"{server.key}\t{state}\t{where}\t{offered} tools{_trouble(server)}")
            )

    def _add(self, options: dict[str, Any]) -> None:
        written = {name: options[name] for name in ("key", "url", "bearer_env")}
        document = {"servers": [{"transport": "http", **written}]}
        self._read(load_servers(document, actor=operator_name()))

    def _sync(self, options: dict[str, Any]) -> None:
        self._read([find_server(options["key"])])

    def _load(self, options: dict[str, Any]) -> None:
        file = options["file"]
        try:
            servers = load_servers(parse_yaml(read_text(file)), actor=operator_name())
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from error
        self.stdout.write(f"kept: {', '.join(server.key for server in servers)}")
        if options["sync"]:
            self._read(servers)

    def _read(self, servers: list[ToolServer]) -> None:
        """Read every catalogue, then fail where one could not be read: a script has to notice."""
        read = [sync_server(server, actor=operator_name()) for server in servers]
        for synced in read:
            if not synced.error:
                self._tell(synced)
        errors = [synced.error for synced in read if synced.error]
        if errors:
            raise CatalogueUnreadable(f"the last catalogue stands: {'; '.join(errors)}")

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


def _trouble(server: ToolServer) -> str:
    if server.catalogue_error:
        return f"\tunreadable since {server.catalogue_error_since:%Y-%m-%d %H:%M}: {server.catalogue_error}"
    return "" if server.catalogue_read_at else "\tnever read: `manage.py servers sync` reads it"
