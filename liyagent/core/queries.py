"""An address that no database takes is refused before any page looks at it."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from liyagent.core.api import bad_request


class StorableQueryMiddleware:
    """Answers 400 where a path or query holds U+0000, on which every look into the database would fail."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        is_storable = "%00" not in request.META.get("QUERY_STRING", "") and "\0" not in request.path
        if not is_storable:
            # Answered and not raised: with debug on, Django would show a page of its own.
            told = "the address holds U+0000 (%00), which nothing here contains"
            return bad_request(request, BadRequest(told))
        return self.get_response(request)
