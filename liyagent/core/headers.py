"""What browsers are told about every page: where its parts may come from, and what it may not do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

STRICT: Mapping[str, str] = {
    "default-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
# What is answered there is data: nothing of it is ever run or shown as a page.
DATA: Mapping[str, str] = {"default-src": "'none'", "frame-ancestors": "'none'"}
# By the beginning of the path, the first that fits. The console's pages alone may do more: Alpine, which draws
# them, makes functions of the expressions in its attributes ('unsafe-eval') and sets styles ('unsafe-inline'). The
# API's own page has its styles in it, and no script. No page may run a script that stands in it: scripts are files of ours.
POLICIES: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "/admin/",
        {
            **STRICT,
            "script-src": "'self' 'unsafe-eval'",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data:",
        },
    ),
    ("/api/docs", {**STRICT, "script-src": "'none'", "style-src": "'self' 'unsafe-inline'"}),
    ("/api/", DATA),
    ("/health/", DATA),
    ("/", STRICT),
)
FEATURES = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in FEATURES)


def content_policy(path: str) -> str:
    """Return the Content-Security-Policy of a path."""
    rules = next((rules for start, rules in POLICIES if path.startswith(start)), STRICT)
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


class SecurityHeadersMiddleware:
    """Sets Content-Security-Policy and Permissions-Policy on every answer that has none of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Django's middleware."""
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, with the headers."""
        response = self._get_response(request)
        response.headers.setdefault("Content-Security-Policy", content_policy(request.path_info))
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response
