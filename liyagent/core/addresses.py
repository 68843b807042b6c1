"""Which addresses the product may speak to when a row names the host (ruling 35)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

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
CARRIES_IPV4 = tuple(IPv6Network(network) for network in ("::ffff:0:0/96", "::/96", "64:ff9b::/96"))


WEB_ADDRESS = "http(s)://host[:port][/path] without a user in it"


class ForbiddenAddress(LiyagentError):
    """This address is private to the network we run in, and no setting lets it be used."""

    code = "outbound.forbidden_address"


def is_web_address(text: str) -> bool:
    """Whether a text is `WEB_ADDRESS`; where its host leads to is asked when it is called."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_usable and "@" not in parts.netloc and text.isprintable() and " " not in text


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
