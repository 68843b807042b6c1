"""Which addresses the product may speak to when a row names the host (ruling 35)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings

from liyagent.core.errors import LiyagentError

Address = IPv4Address | IPv6Address

# Beside what `is_global` knows, whose answer for some of these differs between patch releases of Python.
FORBIDDEN = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
        "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
        "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
# An address of these carries an IPv4 address in its last 32 bits, and that one is what is reached.
CARRIES_IPV4 = tuple(
    IPv6Network(network)
    for network in ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96")
)
# All of IPv6 that was ever given out to the internet; the rest is reserved, or private.
GIVEN_OUT = IPv6Network("2000::/3")
# Names that lead inside wherever they are asked: this machine's own, and where a cloud tells its machines their keys.
INSIDE = frozenset(
    {
        *("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"),
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal"),
        *("instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.packet.net"),
    }
)  # fmt: skip
NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
LONGEST_HOST = 253

WEB_ADDRESS = (
    "http(s)://host[:port][/path], without a user or a fragment, of a host on the internet "
    "or in LIYAGENT_ALLOWED_PRIVATE_HOSTS"
)


class ForbiddenAddress(LiyagentError):
    """This address is private to the network we run in, and no setting lets it be used."""

    code = "outbound.forbidden_address"


def is_web_address(text: str, *, allowed: Collection[str] | None = None) -> bool:
    """Whether a text is `WEB_ADDRESS`, as far as that shows without asking a name server; that is done when it is called.

    `allowed` is by default the setting LIYAGENT_ALLOWED_PRIVATE_HOSTS.
    Refused are also spellings that one reader takes for another host than the next: numbers that are no
    dotted quad, letters that are folded into ASCII, percent signs, backslashes, zone ids.
    """
    host = _host_of(text)
    return host is not None and not is_inside(host, allowed=allowed)


def is_inside(host: str, *, allowed: Collection[str] | None = None) -> bool:
    """Whether a host's name or literal address shows that it is private, and nothing lets it be used.

    `allowed` is by default the setting LIYAGENT_ALLOWED_PRIVATE_HOSTS.
    """
    entries = settings.LIYAGENT.allowed_private_hosts if allowed is None else allowed
    names = {_bare(entry) for entry in entries}
    bare = _bare(host)
    if bare in names:
        return False
    try:
        address = ip_address(bare)
    except ValueError:
        return bare in INSIDE or bare.endswith(".localhost")
    return is_forbidden(address) and not _is_listed(address, names)


def _host_of(text: str) -> str | None:
    """Return the host that every reader takes from an address, None where there is none."""
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return None
    is_usable = parts.scheme in {"http", "https"} and port != 0 and len(host) <= LONGEST_HOST
    if not is_usable or not text.isprintable() or any(it in text for it in " \\#"):
        return None
    if "@" in parts.netloc or "%" in parts.netloc:
        return None
    if parts.netloc.startswith("["):
        return host if _literal(host, IPv6Address) else None
    return host if _is_name(host) else None


def _is_name(host: str) -> bool:
    """Whether it is a name, or an address as it is always written: 127.1, 0x7f.1 and 2130706433 are 127.0.0.1 to some."""
    if not host.isascii():
        is_same = unicodedata.normalize("NFKC", host) == host
        return is_same and all(letter.isalnum() or letter in "-." for letter in host)
    if not NAME.fullmatch(host):
        return False
    bare = host.rstrip(".")
    last = bare.rpartition(".")[2]
    return not NUMBER.fullmatch(last) or _literal(bare, IPv4Address)


def _literal(host: str, kind: type[Address]) -> bool:
    try:
        kind(host)
    except ValueError:
        return False
    return True


def check_addresses(host: str, found: Collection[str], *, allowed: Collection[str]) -> list[str]:
    """Return the addresses found for `host`, without repeats. Raises `ForbiddenAddress` if one is private.

    `allowed` names hosts, addresses and networks that may be used although they are private.
    """
    names = {_bare(entry) for entry in allowed}
    distinct = list(dict.fromkeys(found))
    if _bare(host) in names:
        return distinct
    for text in distinct:
        address = ip_address(text)
        if is_forbidden(address) and not _is_listed(address, names):
            raise ForbiddenAddress(
                f"{host} leads to {text}, an address inside a network and not on the internet; "
                f"if it is meant to be reached, add {host} to LIYAGENT_ALLOWED_PRIVATE_HOSTS"
            )
    return distinct


def is_forbidden(address: Address) -> bool:
    """Say whether an address is private, loopback, link-local, metadata, multicast, reserved or carries one such."""
    carried = list(_carried(address))
    if carried:
        return any(is_forbidden(inner) for inner in carried)
    if isinstance(address, IPv6Address) and address not in GIVEN_OUT:
        return True
    return not address.is_global or any(
        address in network for network in FORBIDDEN if network.version == address.version
    )


def _carried(address: Address) -> Iterator[IPv4Address]:
    if isinstance(address, IPv6Address):
        if any(address in network for network in CARRIES_IPV4):
            yield IPv4Address(int(address) & 0xFFFFFFFF)
        if address.sixtofour is not None:
            yield address.sixtofour


def _is_listed(address: Address, names: set[str]) -> bool:
    return str(address) in names or any(_is_within(address, name) for name in names if "/" in name)


def _is_within(address: Address, name: str) -> bool:
    try:
        return address in ip_network(name, strict=False)
    except ValueError:
        return False


def _bare(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")
