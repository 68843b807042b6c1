"""The console's login: after too many wrong passwords a page that says how long to wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from liyagent.access.attempts import reserve_login, settle_login
from liyagent.core.client_address import client_address

LOGIN = "admin:login"
PAGE = "access/too_many_attempts.html"


class LoginAttemptsMiddleware:
    """Counts logins before the password is looked at; stands behind the CSRF middleware.

    So a form that another site makes a browser send is refused before it counts.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Django's middleware."""
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer; a login that succeeded counts no longer."""
        response = self._get_response(request)
        username = getattr(request, "liyagent_login", None)
        if username is not None and response.status_code == HTTPStatus.FOUND:
            settle_login(username, client_address(request.META))
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Refuse a login with 429 where there were too many."""
        match = request.resolver_match
        if request.method != "POST" or match is None or match.view_name != LOGIN:
            return None
        username = request.POST.get("username", "")
        seconds = reserve_login(username, client_address(request.META))
        if not seconds:
            request.liyagent_login = username  # type: ignore[attr-defined] # for the way back
            return None
        response = render(
            request,
            PAGE,
            {"minutes": math.ceil(seconds / 60)},
            status=HTTPStatus.TOO_MANY_REQUESTS,
        )
        response.headers["Retry-After"] = str(seconds)
        return response
