"""`/metrics`, for a scraper that has the token."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from liyagent.core.health import read_only
from liyagent.core.problems import problem_response
from liyagent.operation.scrape import metrics_text

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED")


@read_only
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """200 and the metrics for `Authorization: Bearer LIYAGENT_METRICS_TOKEN`, else 401.

    404 where no token is set; but in debug for this very machine, by no proxy, open.
    """
    token = settings.LIYAGENT.metrics_token
    if not token and not _is_at_home(request):
        raise Http404
    if token and not _bears(request, token):
        refusal = problem_response(
            status=HTTPStatus.UNAUTHORIZED,
            code="auth.failed",
            title="This needs the token of LIYAGENT_METRICS_TOKEN.",
        )
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    return HttpResponse(metrics_text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _bears(request: HttpRequest, token: str) -> bool:
    scheme, told = request.headers.get("Authorization", "").split(" ", 1), token.encode()
    is_bearer = len(scheme) == 2 and scheme[0].lower() == "bearer"
    given = scheme[1].strip().encode(errors="replace") if is_bearer else b""
    return secrets.compare_digest(given, told)


def _is_at_home(request: HttpRequest) -> bool:
    """Whether debug is on, and the peer is on this machine and forwards for nobody."""
    if not settings.LIYAGENT.debug or any(name in request.META for name in FORWARDED):
        return False
    try:
        return ip_address(str(request.META.get("REMOTE_ADDR"))).is_loopback
    except ValueError:
        return False
