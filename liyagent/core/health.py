"""Health, for whoever routes traffic: is the process alive, should it be sent work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus

import psycopg
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from liyagent.core.problems import problem_response
from liyagent.core.readiness import STATE

DATABASE_SECONDS = 2
SAFE = ("GET", "HEAD")

View = Callable[[HttpRequest], HttpResponse]


def read_only(view: View) -> View:
    """Answer 405, as a problem, to what is neither GET nor HEAD."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if request.method in SAFE:
            return view(request)
        refusal = problem_response(
            status=HTTPStatus.METHOD_NOT_ALLOWED,
            code="method.not_allowed",
            title="This address does not know the method.",
        )
        refusal["Allow"] = ", ".join(SAFE)
        return refusal

    return guarded


@read_only
@never_cache
def live(request: HttpRequest) -> HttpResponse:
    """200 as long as the process serves."""
    return JsonResponse({"status": "live"})


@read_only
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """200 only where the process should be sent work, with `notes` where somebody should look; else 503 and what is missing, in words."""
    missing = [*_own_reasons(), *_database_reasons()]
    if missing:
        return JsonResponse(
            {"status": "not ready", "missing": missing}, status=HTTPStatus.SERVICE_UNAVAILABLE
        )
    notes = {"notes": sorted(STATE.notes)} if STATE.notes else {}
    return JsonResponse({"status": "ready", **notes})


def _own_reasons() -> list[str]:
    draining = ["this process is draining: it takes no new work"] if STATE.is_draining else []
    return [*draining, *sorted(STATE.reasons)]


def _database_reasons() -> list[str]:
    """Ask over a connection of its own, bounded in time, so that a stuck database cannot hold the answer."""
    try:
        with psycopg.connect(
            settings.LIYAGENT.database_url, connect_timeout=DATABASE_SECONDS
        ) as connection:
            # LOCAL, because a pooler would hand the setting on to the next user of the session.
            connection.execute(f"SET LOCAL statement_timeout = '{DATABASE_SECONDS}s'")
            applied = set(connection.execute("SELECT app, name FROM django_migrations").fetchall())
    except psycopg.errors.UndefinedTable:
        return ["migrations: none is applied; run `manage.py migrate`"]
    except psycopg.Error as error:
        return [f"database: no answer within {DATABASE_SECONDS} s ({type(error).__name__})"]
    owed = sorted(f"{app}.{name}" for app, name in _known_migrations() - applied)
    return [f"migrations: {', '.join(owed)} not applied; run `manage.py migrate`"] if owed else []


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Every migration in the code, but those that only replace others; read once, they change with the code."""
    on_disk = MigrationLoader(None).disk_migrations
    return frozenset(name for name, migration in on_disk.items() if not migration.replaces)
