"""Whether a request names a host of ours, and comes from a page of ours if from any (DNS rebinding)."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from liyagent.core.errors import LiyagentError


class WrongHost(LiyagentError):
    """The request names a host that this server does not serve."""

    code = "mcp.wrong_host"
    http_status = HTTPStatus.MISDIRECTED_REQUEST


class WrongOrigin(LiyagentError):
    """The request comes from a page of another site."""

    code = "mcp.wrong_origin"
    http_status = HTTPStatus.FORBIDDEN


def check_hosts(*, host: str, origin: str) -> None:
    """Raise `WrongHost` for a host that LIYAGENT_ALLOWED_HOSTS does not name, `WrongOrigin` for an origin on none of them.

    An origin that LIYAGENT_ALLOWED_ORIGINS names is let in; what no browser sent has none.
    """
    if not _is_ours(host):
        raise WrongHost(f"{host[:200]!r} is not in LIYAGENT_ALLOWED_HOSTS")
    is_named = origin in settings.LIYAGENT.allowed_origins
    if origin and not is_named and not _is_ours(_host_of(origin)):
        raise WrongOrigin(
            f"{origin[:200]!r} is neither a host of ours nor in LIYAGENT_ALLOWED_ORIGINS"
        )


def _is_ours(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
