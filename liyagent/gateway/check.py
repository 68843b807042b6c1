"""Whether a server can be reached and offers what was approved: looked at, nothing written."""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from liyagent.core.addresses import ForbiddenAddress, check_addresses, is_inside
from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.transactions import forbid_transaction
from liyagent.gateway import a2a, mcp
from liyagent.gateway.commands import command_named, environment_for, executable_for
from liyagent.gateway.contracts import Address, address_from
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import ToolServer, Transport
from liyagent.gateway.oauth import TokenRefused
from liyagent.gateway.sync import Offered, offered_in, read_catalogue

MOST_NAMED = 20
SHOWN_ADDRESSES = 4
# What a failure's own words show, and what to do then; the first that fits.
ADVICE = (
    (("HTTP status 401", "HTTP status 403"), "its token is not taken: renew what {token} holds"),
    (("CERTIFICATE_VERIFY_FAILED",), "its certificate is not trusted: renew it, or trust its issuer on this machine"),
    (("SSL", "TLS"), "it does not speak TLS as asked: does its address want http:// or another port?"),
    (("ConnectError", "ConnectTimeout"), "nothing answers there: start it, or correct its address"),
    (("ReadTimeout", "Timed out", "timed out"), "it takes too long to answer: look at its log"),
    (("404", "Not Found"), "there is no MCP endpoint at this address: correct its path"),
)  # fmt: skip
AMISS = "amiss: "
LOOK_THERE = "look at the server's log"


class ServerAmiss(LiyagentError):
    """A tool server is not as it should be."""

    code = "server.amiss"


class _Amiss(LiyagentError):
    """A step of the check failed; its text says what to do."""

    code = "server.amiss_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found, a line a finding; each that is amiss begins so and says what to do."""

    server: str
    lines: tuple[str, ...]
    is_amiss: bool


def check_server(server: ToolServer) -> Checked:
    """Look whether its way can be opened, its token is taken and its catalogue is what was approved. Writes nothing."""
    forbid_transaction(f"checking {server.key}")
    lines = tuple(_lines(server))
    is_amiss = any(line.startswith(AMISS) for line in lines)
    return Checked(server=server.key, lines=lines, is_amiss=is_amiss)


def _lines(server: ToolServer) -> Iterator[str]:
    try:
        yield from _steps(server)
    except _Amiss as error:
        yield f"{AMISS}{error}"


def _steps(server: ToolServer) -> Iterator[str]:
    address = address_from(server)
    if server.transport == Transport.LOCAL:
        offered = read_catalogue(server)
        yield f"{len(offered)} tools in this process"
    else:
        yield from _way(address)
        offered = yield from _said(server, address)
    yield from _differences(server, offered)


def _way(address: Address) -> Iterator[str]:
    if address.transport == Transport.STDIO:
        yield f"its command is {_command(address)}"
        return
    yield f"its host leads to {', '.join(_resolved(address.url))}"
    if address.bearer_env:
        try:
            read_secret(address.bearer_env)
        except BadInput as error:
            raise _Amiss(f"it has no token: {error}") from error


def _command(address: Address) -> str:
    try:
        command = command_named(address.command)
        return executable_for(command, environment_for(command))
    except BadInput as error:
        raise _Amiss(f"its command cannot be started: {error}") from error


def _resolved(url: str) -> list[str]:
    """The addresses of its host, all of them allowed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    allowed = settings.LIYAGENT.allowed_private_hosts
    if is_inside(host, allowed=allowed):
        raise _Amiss(
            f"{host} is inside a network; if it is meant to be reached, add it to LIYAGENT_ALLOWED_PRIVATE_HOSTS"
        )
    try:
        found = socket.getaddrinfo(host, parts.port or parts.scheme, type=socket.SOCK_STREAM)
        return check_addresses(host, [str(it[4][0]) for it in found], allowed=allowed)[
            :SHOWN_ADDRESSES
        ]
    except ForbiddenAddress as error:
        raise _Amiss(str(error)) from error
    except (OSError, UnicodeError) as error:
        raise _Amiss(
            f"{host} cannot be resolved: {error}; correct its address, or the name server"
        ) from error


def _said(server: ToolServer, address: Address) -> Generator[str, None, list[Offered]]:
    try:
        look = (a2a if address.transport == Transport.A2A else mcp).look(address)
        offered = offered_in(server.key, look.tools)
    except (CatalogueUnreadable, TokenRefused, BadInput) as error:
        raise _Amiss(f"{error}; {_advice(str(error), address)}") from error
    if look.token_seconds is not None:
        yield f"its token is fetched by OAuth and used for {look.token_seconds:.0f} s more"
    yield f"protocol {look.protocol}, {len(offered)} tools"
    return offered


def _advice(said: str, address: Address) -> str:
    token = address.bearer_env or (address.oauth.secret_env if address.oauth else "a bearer_env")
    for words, what in ADVICE:
        if any(word in said for word in words):
            return what.format(token=token)
    return LOOK_THERE


def _differences(server: ToolServer, offered: list[Offered]) -> Iterator[str]:
    """What the catalogue of this moment, the last reading and what was approved say differently."""
    now = {it.name: it.fingerprint for it in offered}
    rows = server.tools.only("name", "fingerprint", "approved_fingerprint", "is_offered")
    kept = {tool.name: tool for tool in rows.iterator(chunk_size=500)}
    key = server.key
    fresh = [name for name in now if name not in kept or not kept[name].is_offered]
    changed = [
        name
        for name, fingerprint in now.items()
        if name not in fresh and kept[name].fingerprint != fingerprint
    ]
    gone = [name for name, tool in kept.items() if tool.is_offered and name not in now]
    waiting = [
        name
        for name, fingerprint in now.items()
        if name not in fresh
        and kept[name].fingerprint == fingerprint
        and kept[name].approved_fingerprint != fingerprint
    ]
    sync = f"`manage.py servers sync {key}`"
    yield from _told("new since it was read", fresh, sync)
    yield from _told("changed since it was read", changed, sync)
    yield from _told("gone since it was read", gone, sync)
    yield from _told("not approved as it is", waiting, f"`manage.py tools approve {key}/NAME`")


def _told(what: str, names: list[str], mend: str) -> Iterator[str]:
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        yield f"{AMISS}{what}: {', '.join(sorted(names)[:MOST_NAMED])}{more}; {mend}"
