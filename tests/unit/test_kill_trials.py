"""Kill trials: victims begin entries by every way and are killed at random moments; a survivor ends them all (CR-32).

The judge is tried always; the trials are played where `LIYAGENT_KILL_TRIALS` says how many. `docs/trials.md` tells the rest.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from liyagent.demo.judge import Kind, Request, WriteShown
from tests.kills.begin import Begun
from tests.kills.judge import Judged, Kinds, MessageShown, TrialShown, judge
from tests.kills.look import caught
from tests.kills.plan import (
    EARLIEST_SECONDS,
    LATEST_SECONDS,
    SEED,
    Trial,
    Way,
    planned,
    trials_asked,
)
from tests.kills.plan import TRIALS as TRIALS_ASKED
from tests.kills.report import percentile, table, too_few
from tests.kills.scripts import answer_of
from tests.kills.whole import play_all

TRIALS = trials_asked(os.environ)
MOST_SECONDS = 120 + 12 * TRIALS


if TRIALS:

    @pytest.mark.promise("CR-32")
    @pytest.mark.timeout(MOST_SECONDS)
    def test_none_is_lost_and_nothing_is_done_twice_by_what_killed_processes_had_begun(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        seed = int(os.environ.get(SEED) or secrets.randbelow(1_000_000))

        def say(text: str) -> None:
            with capsys.disabled():
                print(text, flush=True)  # noqa: T201 - what was measured

        say(
            f"\n{TRIALS} trials, seed {seed} ({SEED}={seed} repeats the moments); logs in {tmp_path}"
        )
        whole = play_all(TRIALS, seed=seed, logs=tmp_path, say=say)
        say(table(whole.played, whole.judged, whole.in_doubt))
        say("\n".join((whole.accounted.line, *whole.accounted.incomplete)))
        assert whole.judged.faults == (), f"seed {seed}"
        assert too_few(TRIALS, whole.in_doubt) == [], f"seed {seed}"


PLACEHOLDER = "I am on it."
RUN, OTHER = "0197f000-0000-7000-8000-000000000001", "0197f000-0000-7000-8000-000000000002"
FIRE = TrialShown(name="fire", way=Way.CRON, run_id=RUN)
TURN = TrialShown(name="turn", way=Way.TEAMS, run_id=RUN)
REPLY = MessageShown(id="1:1", replies_to="turn", texts=(PLACEHOLDER, f"All is filed. [{RUN}/9]"))


def request(vendor: str, *, effect: int | None = 1, key: str = "k1", number: int = 1) -> Request:
    """A write as it arrived at a vendor."""
    return Request(vendor=vendor, step_key=key, marker=f"{RUN}/{number}", effect=effect)


def write(vendor: str, fate: str = "done", key: str = "k1") -> WriteShown:
    """A write as the product shows it."""
    return WriteShown(run_id=RUN, vendor=vendor, step_key=key, fate=fate)


def judged(*trials: TrialShown, runs: Sequence[str] = (), **shown: Any) -> Judged:
    """The verdict over these trials; nothing was written or said unless it is shown."""
    known: dict[str, Any] = {"writes": [], "requests": [], "messages": [], **shown}
    return judge(trials=trials, runs=runs, placeholder=PLACEHOLDER, **known)


@pytest.mark.promise("CR-32")
def test_trials_that_ended_as_promised_have_no_fault() -> None:
    found = judged(
        replace(
            FIRE,
            losses=1,
            recovery=14.9,
            told=frozenset({RUN}),
            asked=3,
            answers=frozenset({answer_of(RUN)}),
        ),
        replace(TURN, recovery=2.0),
        writes=[write("incident"), write("jira", key="k2"), write("servicenow", "unknown", "k3")],
        requests=[
            request("incident"),
            # Sent again with its key: the vendor answers with the incident of the first.
            request("incident"),
            request("jira", key="k2", number=2),
            request("servicenow", key="k3", number=3),
        ],
        messages=[REPLY, replace(REPLY, id="1:2", texts=(PLACEHOLDER,))],
    )
    assert found.faults == ()
    # Of a blind write nobody can know; a placeholder that bears no answer is no second reply.
    assert (found.orphans, found.unknown[Kind.BLIND]) == (1, 1)


@pytest.mark.promise("CR-32")
@pytest.mark.parametrize(
    ("kind", "trial"),
    [
        (Kinds.LOST, replace(FIRE, run_id="", state="")),
        (Kinds.LOST, replace(FIRE, state="received", outcome="")),
        (Kinds.LOST, replace(FIRE, state="started", outcome="")),
        (Kinds.FAILED, replace(FIRE, outcome="failed")),
        (Kinds.FAILED, replace(FIRE, outcome="interrupted")),
        (Kinds.FAILED, replace(FIRE, state="refused", outcome="")),
        # Whatever the arrival says, the run itself is asked.
        (Kinds.FAILED, replace(FIRE, status="failed")),
        (Kinds.FAILED, replace(FIRE, status="running")),
        (Kinds.OWED, replace(FIRE, owed=1)),
        (Kinds.ANSWER, replace(FIRE, answers=frozenset({answer_of(RUN), "None"}))),
        (Kinds.ANSWER, replace(FIRE, answers=frozenset({answer_of(OTHER)}))),
        (Kinds.LEFT_OUT, replace(FIRE, asked=1)),
        (Kinds.NO_REPLY, TURN),
        (Kinds.RUN, replace(FIRE, told=frozenset({RUN, OTHER}))),
        (Kinds.CHARGED, replace(FIRE, losses=2)),
        (Kinds.SLOW, replace(FIRE, recovery=15.1)),
    ],
)
def test_a_record_that_did_not_end_as_promised_is_a_fault(kind: Kinds, trial: TrialShown) -> None:
    assert judged(trial).kinds == {kind}


@pytest.mark.promise("CR-32")
@pytest.mark.parametrize(
    ("kind", "messages"),
    [
        (Kinds.NO_REPLY, []),
        (Kinds.NO_REPLY, [replace(REPLY, texts=(PLACEHOLDER,))]),
        (Kinds.REPLY, [REPLY, replace(REPLY, id="1:2")]),
        # Posted at once, without a placeholder before it.
        (Kinds.REPLY, [REPLY, replace(REPLY, id="1:2", texts=(f"All is filed. [{RUN}/9]",))]),
        (Kinds.ANSWER, [replace(REPLY, texts=(PLACEHOLDER, f"All is filed. [{OTHER}/9]"))]),
        # Why there is no answer is not the answer, though it names the run.
        (
            Kinds.ANSWER,
            [replace(REPLY, texts=(PLACEHOLDER, f"I could not finish this. (run {RUN})"))],
        ),
        (Kinds.STRAY, [REPLY, replace(REPLY, id="1:2", replies_to="nobody")]),
    ],
)
def test_a_turn_without_its_one_reply_is_a_fault(kind: Kinds, messages: list[MessageShown]) -> None:
    assert judged(TURN, messages=messages).kinds == {kind}


@pytest.mark.promise("CR-32")
@pytest.mark.parametrize(
    ("kind", "vendor"),
    [(Kinds.INCIDENT, "incident"), (Kinds.COMMENT, "jira"), (Kinds.CHANGE, "servicenow")],
)
def test_an_effect_more_than_one_of_a_write_is_a_fault_whatever_keys_it_was_sent_with(
    kind: Kinds, vendor: str
) -> None:
    for key in ("k1", "k2"):
        requests = [request(vendor), request(vendor, effect=2, key=key)]
        assert judged(FIRE, writes=[write(vendor)], requests=requests).kinds == {kind}


@pytest.mark.promise("CR-32")
def test_a_write_without_a_key_that_was_sent_twice_is_a_fault_though_one_had_no_effect() -> None:
    for vendor, wanted in (("incident", set()), ("jira", {Kinds.COMMENT}), ("servicenow", {Kinds.CHANGE})):  # fmt: skip
        requests = [request(vendor, effect=None), request(vendor)]
        assert judged(FIRE, writes=[write(vendor)], requests=requests).kinds == wanted


@pytest.mark.promise("CR-32")
def test_what_a_run_was_to_write_and_did_not_is_a_fault_unless_nobody_knows() -> None:
    trial = replace(FIRE, asked=2)
    one = request("servicenow")
    wrote, unknown = write("servicenow"), write("servicenow", "unknown", "k2")
    assert judged(trial, writes=[wrote], requests=[one]).kinds == {Kinds.LEFT_OUT}
    assert judged(trial, writes=[wrote, unknown], requests=[one]).kinds == set()
    # Of one that took effect the ledger tells, and it counts once.
    other = replace(one, step_key="k2", marker=f"{RUN}/2", effect=2)
    assert judged(replace(trial, asked=3), writes=[wrote, unknown], requests=[one, other]).kinds == {Kinds.LEFT_OUT}  # fmt: skip


VICTIM, SURVIVOR = uuid4(), uuid4()
IN_HAND = {"state": "started", "owed": 0, "status": "running", "holder": VICTIM, "arrival_claimed_by": None, "sent_by": []}  # fmt: skip
HANDED_ON = {**IN_HAND, "state": "ended", "status": "answered", "owed": 1}
RECEIVED = {**IN_HAND, "state": "received", "status": None}


@pytest.mark.promise("CR-32")
@pytest.mark.parametrize(
    ("row", "is_in_flight"),
    [
        (IN_HAND, True),
        ({**IN_HAND, "holder": SURVIVOR}, False),
        ({**IN_HAND, "status": "queued", "holder": None}, True),
        ({**HANDED_ON, "sent_by": [VICTIM]}, True),
        # Nobody has it in hand: whoever lives has to, and in time.
        (HANDED_ON, True),
        ({**HANDED_ON, "sent_by": [SURVIVOR]}, False),
        ({**HANDED_ON, "owed": 0}, False),
        ({**RECEIVED, "arrival_claimed_by": VICTIM}, True),
        (RECEIVED, True),
        ({**RECEIVED, "arrival_claimed_by": SURVIVOR}, False),
    ],
)
def test_of_all_that_had_not_ended_only_what_a_survivor_had_in_hand_was_not_caught(
    row: dict[str, Any], is_in_flight: bool
) -> None:
    trial = Trial(number=0, name="fire", way=Way.CRON, at=0.0, is_sent_again=False)
    assert caught(Begun(trial=trial, name="fire"), row, {VICTIM}).is_in_flight is is_in_flight


@pytest.mark.promise("CR-32")
@pytest.mark.parametrize(
    ("kind", "fate", "arrived"),
    [
        (Kinds.MISSING, "done", []),
        (Kinds.MISSING, "done", [request("jira", effect=None)]),
        (Kinds.HIDDEN, "failed", [request("jira")]),
        (Kinds.UNSETTLED, "", []),
        (Kinds.UNKNOWN, "unknown", [request("jira")]),
    ],
)
def test_a_write_that_is_shown_as_it_was_not_is_a_fault(
    kind: Kinds, fate: str, arrived: list[Request]
) -> None:
    assert judged(FIRE, writes=[write("jira", fate)], requests=arrived).kinds == {kind}


@pytest.mark.promise("CR-32")
def test_what_belongs_to_no_entry_is_a_fault() -> None:
    assert judged(FIRE, runs=[RUN, OTHER]).kinds == {Kinds.STRAY}
    stray = replace(request("incident"), marker=f"{OTHER}/1")
    assert judged(FIRE, requests=[stray]).kinds == {Kinds.STRAY}


def test_trials_are_played_where_a_number_is_asked_for_and_only_there() -> None:
    assert [trials_asked({TRIALS_ASKED: it}) for it in ("", " ", "12")] == [0, 0, 12]
    assert trials_asked({}) == 0
    for text in ("many", "0", "-1", "1.5", "10001"):
        with pytest.raises(ValueError, match=TRIALS_ASKED):
            trials_asked({TRIALS_ASKED: text})


def test_a_seed_fixes_the_moments_and_each_trial_begins_before_its_kill() -> None:
    rounds = planned(200, seed=5, may_be_apart=True)
    assert rounds == planned(200, seed=5, may_be_apart=True) != planned(200, seed=6, may_be_apart=True)  # fmt: skip
    assert [it.number for round_ in rounds for it in round_.trials] == list(range(200))
    assert all(EARLIEST_SECONDS <= it.kill_at <= LATEST_SECONDS for it in rounds)
    assert all(0 <= it.at <= round_.kill_at for round_ in rounds for it in round_.trials)
    assert {it.way for round_ in rounds for it in round_.trials} == set(Way)
    here = planned(200, seed=5, may_be_apart=False)
    assert [replace(it, is_apart=False) for it in rounds] == here
    assert [it.is_apart for it in rounds].count(True) == 5


def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed() -> None:
    seconds = [float(it) for it in range(20, 0, -1)]
    assert [percentile(seconds, it) for it in (0.5, 0.95, 1.0)] == [10, 19, 20]
    assert percentile([3.0], 0.5) == 3


def test_a_full_set_that_caught_too_few_writes_of_a_kind_proves_nothing_about_it() -> None:
    few = {Kind.KEYED: 20, Kind.READABLE: 19, Kind.BLIND: 0}
    assert too_few(199, few) == []
    assert too_few(200, few) == ["readable: 19"]
