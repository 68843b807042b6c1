"""One answer to a scraper: this process's own counters, and what the database tells, asked at most every few seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock

import psycopg
from django.conf import settings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from liyagent.core.metrics import REGISTRY, Known
from liyagent.operation.questions import QUESTIONS
from liyagent.operation.readings import READINGS

logger = logging.getLogger(__name__)

# However many scrapers ask: the database is asked once in so long.
KEPT_SECONDS = 5.0
CONNECT_SECONDS, STATEMENT_MS = 2, 1000
# Indexes in their own order, whatever the statistics say: they may be of a day when other runs were queued.
BOUND = f"""
SET TRANSACTION READ ONLY;
SET LOCAL statement_timeout = {STATEMENT_MS};
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off
"""
UP = "Whether the database answered this process's last question for metrics: 1 or 0."
SECONDS = "Seconds that the last question for metrics took."
LEFT_OUT = "Statements of six that took the database longer than a second and were left out of the last scrape."
KNOWN = {
    **{
        f"liyagent_{name}": Known(kind="gauge", told=it.told, labels=it.labels)
        for name, it in READINGS.items()
    },
    "liyagent_database_up": Known(kind="gauge", told=UP),
    "liyagent_scrape_seconds": Known(kind="gauge", told=SECONDS),
    "liyagent_scrape_left_out_statements": Known(kind="gauge", told=LEFT_OUT),
}

Row = tuple[str, list[str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the database told, nothing where it was away; `seconds` is how long that took, `left_out` what took too long."""

    rows: tuple[Row, ...] = ()
    left_out: int = 0
    is_up: bool = False
    seconds: float = 0.0
    asked_at: float = field(default_factory=time.monotonic)


class DatabaseReadings(Collector):
    """Asks the database when what it told is older than five seconds; of several at once one asks."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._lock = Lock()
        self._kept: tuple[str, Answer] | None = None

    def describe(self) -> Iterable[Metric]:
        """Return each metric without values; the database is not asked."""
        return [*_families(()).values(), *_own(Answer())]

    def collect(self) -> Iterator[Metric]:
        """Yield what the database tells; where it is away only that, and nothing stale."""
        answer = self._answer()
        if answer.is_up:
            yield from _families(answer.rows).values()
        yield from _own(answer)

    def _answer(self) -> Answer:
        url = settings.LIYAGENT.database_url
        with self._lock:
            if self._kept is not None and self._kept[0] == url:
                kept = self._kept[1]
                if time.monotonic() - kept.asked_at < KEPT_SECONDS:
                    return kept
            answer = ask(url)
            self._kept = (url, answer)
            return answer


def ask(url: str) -> Answer:
    """Ask all questions over a connection of its own, bounded in time, in one transaction that writes nothing."""
    began = time.monotonic()
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            connection.execute(BOUND)
            told = [_asked(connection, question) for question in QUESTIONS]
    except psycopg.Error as error:
        logger.warning("the database told nothing for metrics: %s", error)
        return Answer(seconds=time.monotonic() - began)
    return Answer(
        rows=tuple(row for rows in told if rows is not None for row in rows),
        left_out=told.count(None),
        is_up=True,
        seconds=time.monotonic() - began,
    )


def _asked(connection: psycopg.Connection, question: str) -> list[Row] | None:
    """Return what one statement tells, None where it takes too long: the others are told all the same."""
    conf = settings.LIYAGENT
    values = {"lease": conf.lease_seconds, "sweep": conf.sweep_seconds}
    try:
        with connection.transaction():
            return connection.execute(question, values).fetchall()
    except psycopg.errors.QueryCanceled as error:
        logger.warning("the database told too little for metrics: %s", error)
        return None


def _families(rows: Iterable[Row]) -> dict[str, GaugeMetricFamily]:
    found = {
        name: GaugeMetricFamily(f"liyagent_{name}", it.told, labels=it.labels)
        for name, it in READINGS.items()
    }
    for name, labels, value in rows:
        found[name].add_metric(labels, value)
    return found


def _own(answer: Answer) -> list[GaugeMetricFamily]:
    return [
        GaugeMetricFamily("liyagent_database_up", UP, value=answer.is_up),
        GaugeMetricFamily("liyagent_scrape_seconds", SECONDS, value=answer.seconds),
        GaugeMetricFamily("liyagent_scrape_left_out_statements", LEFT_OUT, value=answer.left_out),
    ]


DATABASE = CollectorRegistry()
DATABASE.register(DatabaseReadings())


def metrics_text() -> bytes:
    """Return all metrics as Prometheus's text format, version 0.0.4."""
    return generate_latest(REGISTRY) + generate_latest(DATABASE)
