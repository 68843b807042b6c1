"""Who sent a request: the peer, or what as many proxies of ours as are set say of it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings

# A customer of the internet has as many IPv6 addresses as a /64 holds.
ONE_CLIENT_BITS = 64


def client_address(meta: Mapping[str, Any]) -> str:
    """Return the address of the client by a request's `META`; empty where the server knows none.

    With LIYAGENT_PROXIES = n, the n-th entry of X-Forwarded-For from the right: each proxy adds the one it
    was spoken to by, and what stands further left is the client's own word. Fewer entries, or none that is
    an address, and the peer counts.
    """
    peer = str(meta.get("REMOTE_ADDR") or "")
    proxies = settings.LIYAGENT.proxies
    told = [it.strip() for it in str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")]
    if not 0 < proxies <= len(told):
        return peer
    return told[-proxies] if _is_address(told[-proxies]) else peer


def counted_as(address: str) -> str:
    """Return what the attempts of an address are counted under: itself, or its IPv6 network of 64 bits."""
    if not _is_address(address):
        return address
    found = ip_address(address)
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), ONE_CLIENT_BITS), strict=False))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
