"""The demo's one act: runs on A, A is killed in the middle of writes, B carries them to their end, the ledgers judge."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.demo.judge import Kind, Request, RunShown, Verdict, WriteShown, judge, read_requests
from liyagent.demo.show import RunLine, Screen, report
from liyagent.demo.stage import Stage
from liyagent.demo.vendors.process import VENDORS
from liyagent.demo.watch import RunRow, View, Watch

RUNS_OF_A_KIND = 4
# As their scripts have it.
WRITES_A_RUN = 6
KINDS = tuple(Kind)
TASK = "Disk usage of /var on web-17 is at 91%. Find out why and bring it below 50%."
SEVERAL = 4
MIDDLE_SECONDS = 15.0
# Less than several will do when this much time has passed.
PATIENCE_SECONDS = 4.0
END_SECONDS = 45.0
LATE_LOOK_SECONDS = 9.0
LOOK_SECONDS = 0.1
QUICK_LOOK_SECONDS = 0.01


class PlayFailed(LiyagentError):
    """The demo could not be played to its end."""

    code = "demo.play_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The runs that were started, in order, with their kinds, and the processes that can hold them."""

    kinds: dict[str, Kind]
    names: dict[int, str]

    @property
    def numbers(self) -> dict[str, int]:
        """The number that each run is shown with."""
        return {run_id: number for number, run_id in enumerate(self.kinds, start=1)}

    def line(self, number: int, run: RunRow, view: View) -> RunLine:
        """Return how a run is shown."""
        return RunLine(
            number=number,
            kind=self.kinds[run.id],
            status=run.status,
            step=run.steps,
            holder=self.names.get(run.pid or 0, ""),
            attempt=run.attempt,
            fates=tuple(write.fate for write in view.writes if write.run_id == run.id),
        )

    def lines(self, view: View) -> list[RunLine]:
        """Return how all runs are shown."""
        return [
            self.line(number, view.runs[run_id], view)
            for run_id, number in self.numbers.items()
            if run_id in view.runs
        ]

    def in_doubt(self, name: str, view: View) -> list[WriteShown]:
        """Return the writes that process `name` has marked and not settled."""
        held = self.held_by(name, view)
        return [write for write in view.in_doubt if write.run_id in held]

    def held_by(self, name: str, view: View) -> set[str]:
        """Return the runs that process `name` holds."""
        return {run.id for run in view.runs.values() if self.names.get(run.pid or 0) == name}


def play(stage: Stage, screen: Screen) -> bool:
    """Play and return whether the promise held. Raises `PlayFailed` where it never came to a kill."""
    cast = Cast(
        kinds=_start_runs(stage),
        names={it.pid: name for name, it in stage.processes.items() if it.pid is not None},
    )
    screen.say(f"{len(cast.kinds)} runs started on A, of agents for each kind of write")
    with Watch(stage.database_url, list(cast.kinds)) as watch:
        _wait_for_the_middle(watch, stage, cast, screen)
        stage.kill("A")
        killed = time.monotonic()
        at_kill = watch.look()
        orphans = cast.held_by("A", at_kill)
        doubt = cast.in_doubt("A", at_kill)
        screen.say(
            f"A is killed (SIGKILL): {len(orphans)} runs, writes in doubt: {_counted(doubt)}"
        )
        seconds, end = _follow(watch, cast, screen, killed=killed, at_kill=at_kill)
    caught = {write.step_key for write in doubt}
    requests = read_requests({vendor: stage.vendors.ledger(vendor) for vendor in VENDORS})
    verdict = _judge(end, cast, caught, requests)
    effects = len({(it.vendor, it.effect) for it in requests if it.effect is not None})
    screen.plain(report(verdict, numbers=cast.numbers, effects=effects, recovery_seconds=seconds))
    return not verdict.broken


def _start_runs(stage: Stage) -> dict[str, Kind]:
    """Start the runs through A's API, the kinds in turn."""
    url = stage.url("A")
    headers = {"Authorization": f"Bearer {stage.token}"}
    started: dict[str, Kind] = {}
    with httpx2.Client(base_url=url, headers=headers, timeout=10) as client:
        for kind in KINDS * RUNS_OF_A_KIND:
            answer = client.post(f"/api/agents/triage-{kind}/runs", json={"task": TASK})
            if not answer.is_success:
                raise PlayFailed(f"A refused a run: {answer.status_code} {answer.text[:300]}")
            started[str(answer.json()["id"])] = kind
    return started


def _wait_for_the_middle(watch: Watch, stage: Stage, cast: Cast, screen: Screen) -> None:
    """Return when several writes of every kind on A took effect at their vendors and were not answered yet."""
    began = time.monotonic()
    while True:
        view = watch.look()
        screen.show(cast.lines(view))
        waited = time.monotonic() - began
        doubt = cast.in_doubt("A", view)
        is_patient = waited < PATIENCE_SECONDS
        # The ledgers take a moment to read; meanwhile the answers may have come: hence the second look.
        if (
            _is_middle(doubt, is_patient)
            and _took_effect(stage, doubt)
            and _is_middle(cast.in_doubt("A", watch.look()), is_patient)
        ):
            return
        if waited > MIDDLE_SECONDS or all(run.is_ended for run in view.runs.values()):
            raise PlayFailed("no moment came with several writes of A in doubt")
        time.sleep(QUICK_LOOK_SECONDS)


def _is_middle(doubt: Sequence[WriteShown], is_patient: bool) -> bool:
    if not is_patient:
        return bool(doubt)
    return len(doubt) >= SEVERAL and {write.kind for write in doubt} == set(KINDS)


def _took_effect(stage: Stage, writes: Iterable[WriteShown]) -> bool:
    """Whether the ledgers hold an effect of every one of these writes."""
    wanted: dict[str, set[str]] = {}
    for write in writes:
        wanted.setdefault(write.vendor, set()).add(write.step_key)
    return all(keys <= _effective_keys(stage, vendor) for vendor, keys in wanted.items())


def _effective_keys(stage: Stage, vendor: str) -> set[str]:
    requests = stage.vendors.ledger(vendor)["requests"]
    return {row["step_key"] for row in requests if row["effect"] is not None}


def _follow(
    watch: Watch, cast: Cast, screen: Screen, *, killed: float, at_kill: View
) -> tuple[float, View]:
    """Show the runs to their end; return the seconds from the kill to the last recovery, and the end."""
    waiting = cast.held_by("A", at_kill)
    last_recovery = 0.0
    late_look_due = 0.0
    while True:
        view = watch.look()
        screen.show(cast.lines(view))
        now = time.monotonic() - killed
        back = {it for it in waiting if _is_recovered(view.runs[it], at_kill.runs[it])}
        if back:
            last_recovery, waiting = now, waiting - back
            screen.say(
                f"{len(back)} runs recovered {now:.1f} s after the kill, {len(waiting)} to go"
            )
        if all(run.is_ended for run in view.runs.values()):
            late_look_due = late_look_due or now + LATE_LOOK_SECONDS
            if not _waits_for_late_look(view) or now > late_look_due:
                return last_recovery, view
        if now > END_SECONDS:
            return last_recovery if not waiting else now, view
        time.sleep(LOOK_SECONDS)


def _is_recovered(run: RunRow, before: RunRow) -> bool:
    return run.attempt > before.attempt or run.is_ended


def _waits_for_late_look(view: View) -> bool:
    return any(it.fate == "unknown" and it.kind is Kind.READABLE for it in view.writes)


def _counted(writes: Sequence[WriteShown]) -> str:
    kinds = Counter(write.kind for write in writes)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)


def _judge(end: View, cast: Cast, caught: set[str], requests: list[Request]) -> Verdict:
    return judge(
        runs=[
            RunShown(
                id=run_id,
                agent=f"triage-{kind}",
                status=end.runs[run_id].status,
                asked=WRITES_A_RUN,
            )
            for run_id, kind in cast.kinds.items()
        ],
        writes=[replace(it, is_caught=it.step_key in caught) for it in end.writes],
        requests=requests,
    )
