"""Keep sources: which documents, and the agents that may search them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction

from liyagent.audit.record import record
from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.errors import BadInput
from liyagent.core.schedule import check_schedule, check_zone, next_slot
from liyagent.gateway.models import BY_MCP, ToolServer
from liyagent.jobs.end import end_job
from liyagent.jobs.models import LIVE, NOW, Job, JobStatus
from liyagent.jobs.sources.errors import SourceInvalid, SourceTaken, SourceUnknown
from liyagent.jobs.sources.folder import check_folder
from liyagent.jobs.sources.kinds import KIND
from liyagent.jobs.sources.models import Source, SourceKind
from liyagent.jobs.sources.tool import offer_search

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
PATTERN = re.compile(r"[A-Za-z0-9_*-]{1,80}")
MOST_SOURCES, MOST_PATTERNS, MOST_URLS = 500, 50, 500
LONGEST_URL = 1000
MOST_NAMED = 20
REQUIRED = ("kind", "agents", "settings")
TIMES = ("schedule", "timezone")
KINDS = f": {', '.join(SourceKind.values)}"


def find_source(key: str) -> Source:
    """Return a source. Raises `SourceUnknown` that names those there are."""
    source = Source.objects.filter(key=key.replace("\x00", "")).first()
    if source is None:
        keys = list(Source.objects.values_list("key", flat=True)[:MOST_NAMED])
        raise SourceUnknown(f"there is no source {key[:80]!r}; there are: {', '.join(keys) or 'none yet'}")  # fmt: skip
    return source


def save_source(key: str, given: Mapping[str, Any], *, actor: str) -> Source:
    """Keep a source; what is left out stays. A sync of what it was before ends as cancelled.

    Nothing is read yet: `ask_sync` does. Raises `SourceInvalid` that names every field that is wrong, `SourceTaken`; it is kept
    where `Conflict` is raised: the name of the tool's server is another's.
    """
    try:
        with transaction.atomic(durable=True):
            source = _saved(key, given, actor)
    except IntegrityError:
        raise SourceTaken from None
    offer_search(actor=actor)
    return source


def remove_source(key: str, *, actor: str) -> None:
    """Forget a source and its documents; a sync of it ends as cancelled. Raises `SourceUnknown`."""
    with transaction.atomic(durable=True):
        source = find_source(key)
        _end_syncs(source, "the source was removed", actor)
        count = source.document_set.count()
        source.delete()
        record("source.removed", actor=actor, detail={"source": key, "documents": count})


def _saved(key: str, given: Mapping[str, Any], actor: str) -> Source:
    found = Source.objects.select_for_update().filter(key=key).first()
    values = _checked(key, given, found)
    if found is None and Source.objects.count() >= MOST_SOURCES:
        raise SourceInvalid({"key": f"is one too many: there are {MOST_SOURCES} sources"})
    source = found or Source(key=key)
    is_changed = any(getattr(source, it) != values.get(it, getattr(source, it)) for it in ("kind", "settings"))  # fmt: skip
    values |= {"saved_by": actor[:150], "updated_at": NOW}
    before = (source.schedule, source.timezone, source.problem) if found else None
    for name, value in values.items():
        setattr(source, name, value)
    if before != (source.schedule, source.timezone, ""):
        values |= {"next_slot": _next(source), "problem": ""}
        source.next_slot, source.problem = values["next_slot"], ""
    source.save(update_fields=list(values) if found else None)
    source.refresh_from_db()
    if found and is_changed:
        _end_syncs(source, "the source was changed", actor)
    told = {name: getattr(source, name) for name in REQUIRED + TIMES}
    record("source.saved", actor=actor, detail={"source": key, "set": told})
    return source


def _end_syncs(source: Source, why: str, actor: str) -> None:
    live = Job.objects.filter(kind=KIND, subject=source.key, status__in=LIVE)
    for job_id in live.values_list("id", flat=True):
        end_job(job_id, JobStatus.CANCELLED, why, actor=actor)


def _checked(key: str, given: Mapping[str, Any], found: Source | None) -> dict[str, Any]:
    problems: dict[str, str] = {}
    values: dict[str, Any] = {}
    if not KEY.fullmatch(key):
        problems["key"] = "wants 1 to 80 letters, digits, - and _"
    for name in given:
        if name not in REQUIRED + TIMES:
            problems[name[:80]] = f"is not known; the known ones are {', '.join(REQUIRED + TIMES)}"
    for name in REQUIRED if found is None else ():
        if name not in given:
            problems[name] = f"is missing{KINDS if name == 'kind' else ''}"
    kind = given.get("kind", found.kind if found else "")
    checks: dict[str, Callable[[Any], Any]] = {
        "kind": _kind,
        "agents": _agents,
        "schedule": _schedule,
        "timezone": _timezone,
    }
    if kind in SourceKind.values:
        told = given.get("settings", found.settings if found else None)
        checks["settings"] = lambda _value: _settings(kind, told)
    for name, check in checks.items():
        # Another kind wants other settings.
        if name in given or (name == "settings" and "kind" in given and found is not None):
            try:
                values[name] = check(given.get(name))
            except BadInput as error:
                problems[name] = str(error)
    if problems:
        raise SourceInvalid(problems)
    return values


def _kind(value: Any) -> str:
    if value not in SourceKind.values:
        raise BadInput(f"wants one of {', '.join(SourceKind.values)}")
    return str(value)


def _agents(value: Any) -> list[str]:
    is_list = isinstance(value, list) and len(value) <= MOST_PATTERNS
    if is_list and all(isinstance(it, str) and PATTERN.fullmatch(it) for it in value):
        return list(dict.fromkeys(value))
    raise BadInput(
        f"wants a list of at most {MOST_PATTERNS} keys of agents, or patterns such as ops-*"
    )


def _schedule(value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput("wants a line of five fields, or nothing")
    return check_schedule(value) if value.strip() else ""


def _timezone(value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput("wants the name of a time zone")
    return check_zone(value.strip() or "UTC")


def _next(source: Source) -> datetime | None:
    """The first slot from now on."""
    if not source.schedule:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_now()")
        ((now,),) = cursor.fetchall()
    try:
        return next_slot(source.schedule, source.timezone, now)
    except BadInput as error:
        raise SourceInvalid({"schedule": str(error)}) from None


def _settings(kind: str, value: Any) -> dict[str, Any]:
    name, check = SETTINGS[kind]
    if not isinstance(value, dict) or set(value) != {name}:
        raise BadInput(f"wants an object with {name} alone, for the kind {kind}")
    try:
        return {name: check(value[name])}
    except BadInput as error:
        raise BadInput(f"{name} {error}") from None


def _urls(value: Any) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_URLS:
        raise BadInput(f"wants a list of 1 to {MOST_URLS} addresses")
    for url in value:
        if not isinstance(url, str) or len(url) > LONGEST_URL or "#" in url or not is_web_address(url):  # fmt: skip
            raise BadInput(f"has {str(url)[:100]!r}; each wants {WEB_ADDRESS}, without a fragment")
    return list(dict.fromkeys(value))


def _server(value: Any) -> str:
    there = isinstance(value, str) and "\x00" not in value
    if there and ToolServer.objects.filter(key=value).filter(transport__in=BY_MCP).exists():
        return str(value)
    raise BadInput("wants the key of a tool server by http or stdio")


SETTINGS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    SourceKind.FOLDER: ("folder", check_folder),
    SourceKind.URLS: ("urls", _urls),
    SourceKind.MCP: ("server", _server),
}
