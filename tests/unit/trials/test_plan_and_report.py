"""The trials repeat by their seed, and say what broke."""

from __future__ import annotations

from liyagent.demo.judge import Kind, RunShown, Verdict
from tests.trials.faults import Struck
from tests.trials.plan import DEFAULT_SET, FULL_SET, Fault, Plan, planned
from tests.trials.report import Whole, broken_by, line_of, table
from tests.trials.trial import Played, Recovery
from tests.trials.watch import OpenMark


def played(
    fault: Fault,
    *,
    losses: int = 0,
    verdict: Verdict | None = None,
    caught: int = 20,
    cause: str = "lapse",
) -> Played:
    """One trial with so many writes of each kind caught."""
    marks = tuple(
        OpenMark(run_id="r", vendor=vendor, step_key="k")
        for vendor in ("incident", "jira", "servicenow")
        for _ in range(caught)
    )
    plan = Plan(
        number=1, fault=fault, moment=0.5, is_from_start=False, pace_ms=25.0, away_seconds=0.0
    )
    return Played(
        plan=plan,
        runs=(),
        struck=Struck(at=0.0, hit=frozenset(), caught=marks),
        heads=({"id": "r", "losses": losses, "last_loss": cause},),
        calls=(),
        verdict=verdict or Verdict(),
        recoveries=(Recovery(seconds=7.5, cause=cause),),
    )


def broken(trial: Played) -> list[str]:
    """Return what broke in a set of this one trial."""
    return broken_by([trial], [Whole(verdict=trial.verdict)], least_caught=20)


def test_the_same_seed_plays_the_same_trials_and_another_one_others() -> None:
    assert planned(DEFAULT_SET, seed=7) == planned(DEFAULT_SET, seed=7)
    assert planned(DEFAULT_SET, seed=7) != planned(DEFAULT_SET, seed=8)


def test_each_fault_is_played_as_often_as_it_is_set() -> None:
    plans = planned(FULL_SET, seed=1)
    assert {fault: sum(it.fault is fault for it in plans) for fault in Fault} == FULL_SET


def test_a_set_in_which_nothing_broke_holds() -> None:
    assert broken(played(Fault.KILL, losses=1)) == []


def test_a_kind_of_which_too_few_writes_were_caught_proves_nothing() -> None:
    told = broken(played(Fault.KILL, caught=19))
    assert [kind for kind in Kind if any(f"19 {kind} writes" in line for line in told)] == [*Kind]


def test_a_loss_charged_for_a_fault_that_loses_nobody_breaks_the_promise() -> None:
    for fault in (Fault.TERM, Fault.DATABASE, Fault.CONNECTIONS):
        assert len(broken(played(fault, losses=1))) == 1


def test_two_losses_for_one_kill_break_the_promise() -> None:
    assert len(broken(played(Fault.KILL, losses=2))) == 1


def test_a_lost_run_and_a_duplicate_break_the_promise() -> None:
    verdict = Verdict(
        lost=(RunShown(id="r", agent="triage-keyed", status="failed"),), duplicates=("r/1",)
    )
    trial = played(Fault.KILL, verdict=verdict)
    assert len(broken(trial)) == 2
    assert line_of(trial, of=1).endswith("BROKEN")


def test_a_chain_that_does_not_verify_breaks_the_promise() -> None:
    trial = played(Fault.KILL)
    whole = Whole(verdict=trial.verdict, broken_chains=("c",))
    assert broken_by([trial], [whole], least_caught=20) == [
        "events: the chain of c does not verify"
    ]


def test_those_of_other_hosts_are_played_last_on_a_stage_of_their_own() -> None:
    faults = [plan.fault for plan in planned(FULL_SET, seed=3)]
    assert faults.index(Fault.HOST) == len(faults) - FULL_SET[Fault.HOST]


def test_a_death_that_was_proven_from_another_host_shows_that_the_hosts_were_one() -> None:
    assert broken(played(Fault.HOST, losses=1, cause="hint")) == []
    assert len(broken(played(Fault.HOST, losses=1, cause="proof"))) == 1


def test_recoveries_are_told_by_how_the_loss_was_seen() -> None:
    trials = [played(Fault.HOST, cause="hint"), played(Fault.TERM, cause="")]
    told = table(trials, [Whole(verdict=Verdict())])
    assert "hint                  1 runs  7.50 / 7.50 s" in told
    assert "no loss               1 runs  7.50 / 7.50 s" in told
