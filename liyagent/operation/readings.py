"""What is read from the database at a scrape: each gauge with its help, as `docs/operate/metrics.md` lists it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A gauge from the database; `labels` are the names of what a row tells it by."""

    told: str
    labels: tuple[str, ...] = ()


# By the name that the statements of `questions.py` tell them by, without `liyagent_`.
READINGS: Mapping[str, Reading] = {
    "runs": Reading(
        told="Runs that have not ended, by status and entry; at most 10,000 of a status are counted.",
        labels=("status", "entry"),
    ),
    "queued_runs": Reading(
        told="Queued runs: fresh, again (they ran before), timed (due later or now), alone (lost twice); 10,000 at most.",
        labels=("kind",),
    ),
    "queue_oldest_seconds": Reading(
        told="Seconds that the oldest due run waits: fresh since its start, timed since its time; 0 where none waits.",
        labels=("kind",),
    ),
    "runs_oldest_seconds": Reading(
        told="Seconds since the start of the oldest run that is running, waiting or paused.",
        labels=("status",),
    ),
    "runs_carried_alone": Reading(told="Runs lost twice that a process of their own carries now."),
    "paused_runs": Reading(
        told="Runs paused because no living process has their sealing key, by key id; 10,000 at most.",
        labels=("key_id",),
    ),
    "runs_resumed_15m": Reading(
        told="Resumes after a loss that were told of in the last 15 minutes, by cause, of all processes; 1,000 at most.",
        labels=("cause",),
    ),
    "events_missing": Reading(
        told="Events of running runs that could not be written, not yet told of by a gap."
    ),
    "writes_in_doubt": Reading(
        told="Writes of runs not ended that were sent, or are about to be, and whose outcome is not stored; those held for a person are not."
    ),
    "write_in_doubt_oldest_seconds": Reading(
        told="Seconds since the first mark of the oldest write in doubt; 0 where there is none."
    ),
    "unknown_writes": Reading(
        told="Writes of unknown outcome that were not found since, among the newest 10,000: a person has to look."
    ),
    "unknown_write_oldest_seconds": Reading(
        told="Seconds since the first mark of the oldest write of unknown outcome of which nobody has said what happened."
    ),
    "late_looks_overdue": Reading(
        told="Writes of unknown outcome whose late look is due for more than five minutes; 10,000 at most."
    ),
    "sagas_left": Reading(
        told="Sagas that need a person, by status: partial (not all is undone), handed_off (nothing is, and its request or ticket is open); of the newest 10,000.",
        labels=("status",),
    ),
    "saga_left_oldest_seconds": Reading(
        told="Seconds since something changed last of the saga that has needed a person longest; 0 where none does."
    ),
    "holders": Reading(
        told="Lives of processes: alive, draining, or lapsed (silent for a lease; forgotten after a day).",
        labels=("state",),
    ),
    "holders_unlocked": Reading(
        told="Living holders without a life-lock: their death is noticed later (behind a pooler)."
    ),
    "lease_renewal_oldest_seconds": Reading(
        told="Seconds since the renewal of the living holder that has been silent longest."
    ),
    "lapsed_holders": Reading(
        told="Holders whose lease ran out and whose runs nobody has claimed yet."
    ),
    "lapsed_oldest_seconds": Reading(
        told="Seconds since the oldest of those leases ran out: how late the sweep is."
    ),
    "leader_up": Reading(told="1 while a process leads: it sweeps every few seconds; else 0."),
    "leader_tick_seconds": Reading(
        told="Seconds since the leader last swept, by this process's LIYAGENT_SWEEP_SECONDS."
    ),
    "jobs_queued": Reading(told="Jobs that wait for a cluster; 1,000 at most."),
    "background_jobs": Reading(
        told="Background jobs that have not ended, by kind and status: queued, running; 10,000 at most.",
        labels=("kind", "status"),
    ),
    "background_job_oldest_seconds": Reading(
        told="Seconds that the oldest queued background job waits beyond its time; 0 where none does."
    ),
    "tools_unapproved": Reading(
        told="Tools that a server offers as nobody has approved them: calls to them are refused."
    ),
    "servers_unreadable": Reading(
        told="Enabled tool servers whose catalogue could not be read at the last try."
    ),
    "server_unreadable_oldest_seconds": Reading(
        told="Seconds since the catalogue that cannot be read longest could be read."
    ),
    "agents_contained": Reading(told="Agents that are contained."),
    "everything_contained": Reading(told="1 while everything is contained, else 0."),
    "undelivered_notices": Reading(
        told="Notices of approvals that were not delivered: failing (tried again), dead (given up after a day, kept for a month); 10,000 at most.",
        labels=("state",),
    ),
    "approval_notice_oldest_seconds": Reading(
        told="Seconds since what the oldest notice tells that could not be delivered so far; 0 where there is none."
    ),
}
