"""One JSON object a line on stderr, with the ids of what the line is about and without secrets."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from liyagent.core.plain import clean_text, json_bytes

IDS = ("run_id", "correlation_id", "request_id", "attempt")
# Where a request keeps its id, in `META`.
REQUEST_ID = "liyagent.request_id"
# What no line may show: an authorization header's value, our own API keys, a password within an address.
SECRETS = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',]+"), r"\1 ***"),
    (re.compile(r"\bliy_[0-9a-f]+_[\w-]+"), "liy_***"),
    # Without the scheme before it: a long word would be looked through from each of its letters.
    (re.compile(r"(://[^\s/:@]*):[^\s/@]+@"), r"\1:***@"),
)
_ids: ContextVar[Mapping[str, object]] = ContextVar(
    "liyagent_log_ids", default=MappingProxyType({})
)


@contextmanager
def log_context(**ids: object) -> Iterator[None]:
    """Put `ids` (of `IDS`) on every line logged by this thread or task until the block ends; None takes one off."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def current_ids() -> Mapping[str, object]:
    """Return the ids in force."""
    return _ids.get()


class AddIds(logging.Filter):
    """Takes the ids at the time of logging, so that a formatter in another thread still has them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record; one that is about a request bears that request's id."""
        request = getattr(record, "request", None)
        request_id = getattr(request, "META", {}).get(REQUEST_ID)
        record.liyagent_ids = {"request_id": request_id, **_ids.get()}
        return True


class JsonFormatter(logging.Formatter):
    """Renders a record: ts, level, logger, message, the ids that are known, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a value that JSON has no form for is shown as text."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "ts": at.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
        }
        ids = getattr(record, "liyagent_ids", {})
        for name in IDS:
            value = ids.get(name)
            if value not in (None, ""):
                line[name] = value if isinstance(value, int) else str(value)
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return json_bytes(line).decode()


def without_secrets(text: str) -> str:
    """Return `text` storable and with what looks like a secret starred out."""
    for pattern, shown in SECRETS:
        text = pattern.sub(shown, text)
    return clean_text(text)


def logging_config(level: str) -> dict[str, Any]:
    """Return Django's LOGGING: everything through one handler on stderr. Start uvicorn with `log_config=None`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"ids": {"()": "liyagent.core.logs.AddIds"}},
        "formatters": {"json": {"()": "liyagent.core.logs.JsonFormatter"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stderr",
                "formatter": "json",
                "filters": ["ids"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django and django-q2 bring handlers of their own; without this each line comes twice.
            name: {"handlers": [], "propagate": True}
            for name in ("django", "django.server", "django-q", "uvicorn", "uvicorn.access")
        }
        # A line for each request of ours to a server or a model says nothing that a run's events do not.
        | {
            name: {"level": "WARNING"}
            for name in ("httpx2", "httpcore2", "httpx", "httpcore", "mcp", "a2a")
        },
    }
