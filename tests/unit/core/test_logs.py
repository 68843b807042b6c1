"""Log lines: one JSON object each, with ids and without secrets."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest

from liyagent.core.logs import (
    REQUEST_ID,
    AddIds,
    JsonFormatter,
    log_context,
    logging_config,
    without_secrets,
)

logger = logging.getLogger("liyagent.tests.logs")


class Lines:
    """What was logged."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handler: logging.Handler = logging.NullHandler()

    def all(self) -> list[dict[str, Any]]:
        """Every line, parsed."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The lines of `logger`, formatted as in production."""
    kept = Lines()
    handler = logging.StreamHandler(kept.stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(AddIds())
    logger.addHandler(handler)
    logger.setLevel("INFO")
    kept.handler = handler
    yield kept
    logger.removeHandler(handler)


def test_a_line_bears_the_ids_in_force_and_no_others(lines: Lines) -> None:
    with log_context(run_id="r-1", attempt=2), log_context(request_id="q-1", attempt=3):
        logger.info("inside %s", "it")
    logger.info("outside")
    inside, outside = lines.all()
    assert inside["message"] == "inside it"
    assert inside["level"] == "INFO"
    assert inside["logger"] == "liyagent.tests.logs"
    assert (inside["run_id"], inside["request_id"], inside["attempt"]) == ("r-1", "q-1", 3)
    assert inside["ts"].endswith("+00:00")
    assert not {"run_id", "request_id", "attempt", "exception"} & set(outside)


def test_a_line_about_a_request_bears_its_id_after_the_answer_too(lines: Lines) -> None:
    request = HttpRequest()
    request.META[REQUEST_ID] = "q-7"
    logger.warning("Not Found: /x", extra={"request": request})
    assert lines.all()[0]["request_id"] == "q-7"


def test_an_exception_is_one_field_of_one_line(lines: Lines) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("failed")
    (line,) = lines.all()
    assert "ValueError: two\nlines" in line["exception"]


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("headers {'authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ("key liy_0123456789ab_" + "s" * 43, "s" * 43),
        ("at postgresql://liyagent:hunter2@db/x", "hunter2"),
    ],
)
def test_no_secret_is_logged(lines: Lines, said: str, secret: str) -> None:
    logger.warning("%s", said)
    try:
        raise RuntimeError(said)
    except RuntimeError:
        logger.exception("again")
    assert secret not in lines.stream.getvalue()
    assert "***" in lines.stream.getvalue()


@pytest.mark.parametrize("word", ["x", "://", "x://a:", "Bearer ", " ", "liy_a"])
def test_a_long_line_is_looked_through_in_time_that_grows_with_it_alone(word: str) -> None:
    """Meanwhile no other thread runs, the one that renews all that the process holds included."""
    began = time.thread_time()
    without_secrets(word * (1_000_000 // len(word)))
    assert time.thread_time() - began < 1


@pytest.mark.field("FL-32")
def test_text_that_cannot_be_stored_does_not_break_the_line(lines: Lines) -> None:
    # Past the logger: text that cannot be stored cannot be told in the test run's own report either.
    record = logger.makeRecord(logger.name, logging.INFO, __file__, 1, "boot\x00 \ud83d", (), None)
    lines.handler.handle(record)
    assert lines.all()[0]["message"] == "boot\ufffd \ufffd"


def test_django_and_uvicorn_log_through_the_one_handler() -> None:
    config = logging_config("WARNING")
    assert config["root"] == {"handlers": ["stderr"], "level": "WARNING"}
    for name in ("django", "django.server", "django-q", "uvicorn", "uvicorn.access"):
        assert config["loggers"][name] == {"handlers": [], "propagate": True}
