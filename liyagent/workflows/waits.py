"""What a wait waits for, filled in: checked without a clock, so that every process judges it alike. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from liyagent.workflows.errors import WaitInvalid

LONGEST_SECONDS = 366 * 86_400
LONGEST_NAME = 200


def check_wait(body: Mapping[str, Any]) -> None:
    """Raise `WaitInvalid` unless it is `seconds` up to a year, `until` a time with its zone, or a `signal` with a name."""
    if "signal" in body:
        name = body["signal"]
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise WaitInvalid(
                f"signal is {name!r:.80}; it wants a name of 1 to {LONGEST_NAME} characters"
            )
    elif "seconds" in body:
        _seconds(body["seconds"])
    else:
        _time(body["until"])


def until_of(body: Mapping[str, Any], now: datetime) -> datetime:
    """Return until when a wait that was checked lasts, begun `now`."""
    return now + _seconds(body["seconds"]) if "seconds" in body else _time(body["until"])


def _seconds(value: Any) -> timedelta:
    try:
        seconds = float(value) if not isinstance(value, bool) else -1.0
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise WaitInvalid(f"seconds is {value!r:.80}; it wants 0 up to those of a year") from None
    return timedelta(seconds=seconds)


def _time(value: Any) -> datetime:
    try:
        until = datetime.fromisoformat(value)
        if until.tzinfo is None:
            raise ValueError
        return until.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise WaitInvalid(
            f"until is {value!r:.80}; it wants a time with its zone, such as 2026-12-01T09:00:00+01:00"
        ) from None
