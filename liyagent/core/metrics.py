"""What this process counts about itself, for `/metrics`: rooms import a metric and add to it, one line each.

Counters begin at zero with each process. Names of agents and servers are labels of at most 200 values; what comes
after those is `other`. A child is looked up in a dictionary, without a lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own gap
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

MOST_NAMES = 200
OTHER = "other"
LONG_SECONDS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300)
CALL_SECONDS = (0.05, 0.1, 0.3, 1, 3, 10, 30, 60)
SHORT_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
RECOVERY_SECONDS = (0.1, 0.3, 1, 2, 4, 8, 15, 30, 60, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A metric as `docs/operate/metrics.md` lists it."""

    kind: str
    told: str
    labels: tuple[str, ...] = ()


# What this process counts, by name.
KNOWN: dict[str, Known] = {}

M = TypeVar("M", Counter, Gauge, Histogram)


class Children(Generic[M]):
    """A metric's children by the values of its labels; once the first label has had its names, a new one is `other`."""

    def __init__(self, metric: M, *, most_names: int = MOST_NAMES) -> None:
        """`most_names` bounds the first label; the others have few values by themselves."""
        self._metric: M = metric
        self._most_names = most_names
        self._children: dict[tuple[str, ...], Any] = {}
        self._names: set[str] = set()
        self._lock = Lock()

    def of(self, *values: str) -> M:
        """Return the child of these labels."""
        child = self._children.get(values)
        return self._made(values) if child is None else child

    def _made(self, values: tuple[str, ...]) -> M:
        with self._lock:
            name = values[0]
            is_known = name in self._names or len(self._names) < self._most_names
            if is_known:
                self._names.add(name)
            child: M = self._metric.labels(*(values if is_known else (OTHER, *values[1:])))
            if is_known:
                self._children[values] = child
            return child


def _known(name: str, kind: str, told: str, labels: tuple[str, ...] = ()) -> str:
    name = f"liyagent_{name}"
    KNOWN[name] = Known(kind=kind, told=told, labels=labels)
    return name


def _counter(name: str, told: str, *labels: str) -> Counter:
    return Counter(_known(name, "counter", told, labels), told, labels, registry=REGISTRY)


def _gauge(name: str, told: str) -> Gauge:
    return Gauge(_known(name, "gauge", told), told, registry=REGISTRY)


def _histogram(name: str, told: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
    name = _known(name, "histogram", told, labels)
    return Histogram(name, told, labels, registry=REGISTRY, buckets=buckets)


RUNS_TAKEN = Children(
    _counter(
        "runs_taken_total",
        "Runs taken by this process: fresh, or again after another attempt.",
        "kind",
    )
)
RUNS_CLAIMED = Children(
    _counter(
        "runs_claimed_total",
        "Lost runs that this process claimed, by cause: proof, hint, lapse, error, thread.",
        "cause",
    )
)
RUNS_ENDED = Children(
    _counter(
        "runs_ended_total",
        "Runs ended by this process, by status and by the code of why, none where answered.",
        "status",
        "error",
    )
)
RUNS_CARRIED = _gauge("runs_carried", "Runs that this process carries now, each in a thread.")
RUN_SLOTS = _gauge("run_slots", "How many fresh runs this process carries at once at most.")
RECOVERY = _histogram(
    "run_recovery_seconds",
    "Seconds from this process's claim of a lost run until it took that run itself.",
    buckets=RECOVERY_SECONDS,
)
STEPS = _histogram(
    "step_seconds",
    "Seconds of one step of a run: the model's answer, its checkpoint and all its calls.",
    buckets=LONG_SECONDS,
)
MODEL_CALLS = Children(
    _histogram(
        "model_call_seconds",
        "Seconds of one try to ask a model, by provider and outcome: answered, unavailable, rejected, unwanted.",
        "provider",
        "outcome",
        buckets=LONG_SECONDS,
    )
)
TOOL_CALLS = Children(
    _histogram(
        "tool_call_seconds",
        "Seconds of one sending to a tool server, by server and fate of the sending: done, failed, unknown.",
        "server",
        "fate",
        buckets=CALL_SECONDS,
    )
)
CALLS_SETTLED = Children(
    _counter(
        "calls_settled_total",
        "Calls of tools that came to an end here, by server and fate: done, failed, refused, held, unknown.",
        "server",
        "fate",
    )
)
TOKENS = Children(
    _counter(
        "model_tokens_total",
        "Tokens that models counted, by agent and direction: input, output.",
        "agent",
        "direction",
    )
)
COST = Children(
    _counter(
        "model_cost_total", "Cost of model steps in the unit of the price file, by agent.", "agent"
    )
)
STATEMENTS = _histogram(
    "hot_statement_seconds",
    "Seconds of one hot statement with its commit, the wait for a connection and for a database that is away included, and the gates of a step's calls where they take longer.",
    buckets=SHORT_SECONDS,
)
STATEMENT_RETRIES = _counter(
    "hot_statement_retries_total", "Hot statements asked again because the database was away."
)
DATABASE_WARNINGS = _counter(
    "database_warnings_total",
    "Warnings of the database on the hot path: a flush of events that it had to drop.",
)
RENEWALS_FAILED = _counter(
    "renewals_failed_total",
    "Renewals of this process's lease that failed, the database being away.",
)
RENEWALS_LATE = _counter(
    "renewals_late_total",
    "Renewals more than half a lease after the one before: near to losing all.",
)
LIVES_LOST = _counter(
    "lives_lost_total",
    "How often the database no longer knew this process as a holder, all its runs lost.",
)
EVENTS_PURGED = _counter(
    "events_purged_total", "Run events that this process purged, their time being over."
)
SPANS = Children(
    _counter(
        "trace_spans_total",
        "Spans of this process by what became of them: sent, full (too many waited), refused by the collector, "
        "no_mission, at_end (the process ended first).",
        "outcome",
    )
)
STREAMS = _gauge("streams_open", "Listeners whom this process tells events of a run now.")
LOGINS_REFUSED = _counter(
    "logins_refused_total", "Logins refused before the password was looked at: too many had failed."
)
BAD_KEYS = _counter("bad_api_keys_total", "Requests with a token that is no API key.")
DELIVERIES = Children(
    _counter(
        "deliveries_total",
        "Attempts of this process to hand on an answer, by way in and outcome: delivered, failed (tried again), "
        "unconfirmed (nobody can tell), dead (given up).",
        "way",
        "outcome",
    )
)
JOBS_ENDED = Children(
    _counter(
        "background_jobs_ended_total",
        "Background jobs that this process ended, by kind and status: done, failed, cancelled, interrupted.",
        "kind",
        "status",
    )
)
RUNS_REPLAYED = Children(
    _counter(
        "runs_replayed_total",
        "Runs of cohort replays that this process replayed, each lane for itself, by verdict: same, changed, regressed.",
        "verdict",
    )
)
NOTICES = Children(
    _counter(
        "approval_notices_total",
        "Attempts of this process to tell of an approval, by outcome: delivered, failed (tried again), dead (given up after a day).",
        "outcome",
    )
)
ROOTS_MADE = _counter("roots_made_total", "Signed roots over the record that this process made.")
HEADS_HELD = _gauge(
    "heads_held",
    "Chains that wait for their seal as somebody holds their heads, as the process that seals last saw it.",
)
SEALING_STOPPED = _gauge(
    "sealing_stopped", "1 where nothing is sealed, as the newest root is none of ours; else 0."
)
SEALS_REFUSED = _counter(
    "seals_refused_total",
    "How often a chain was not sealed as what had been sealed of it no longer stands: it was tampered with.",
)
ROOTS_BEHIND = _gauge(
    "roots_behind", "Roots that are not exported yet, as the process that exports them last saw it."
)
ROOT_EXPORTS_FAILED = _counter(
    "root_exports_failed_total",
    "Looks of this process in which the target of roots could not be read or written.",
)
ROLLBACKS = _counter(
    "rollbacks_found_total",
    "How often this process found the database behind, or beside, what was exported of it.",
)
