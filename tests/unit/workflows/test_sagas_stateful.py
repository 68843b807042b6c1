"""Random runs that fail, are held, decided about, stopped, taken over and undone: what holds of sagas holds of each.

`make sagas` tries `SAGA_EXAMPLES` runs of `SAGA_STEPS` moments each, others every time; without either it is the same few.
`SAGA_SHRINK=1` makes what fails smaller, which takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as tries
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pytest_django import Settings

from liyagent.approvals.decide import decide, expire_due
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import LiyagentError
from runs.close_saga import close_saga
from runs.compensate import compensate_run
from runs.hand_off import hand_off_due
from runs.late_look import look_late
from runs.models import Call, Run
from runs.settle_by_person import it_did_not, it_happened
from runs.stop import stop_run
from sagas.models import Saga
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.test_saga_races import at_once
from tests.unit.workflows.conftest import Works
from tests.unit.workflows.sagas_drawn import Drawn, runs
from tests.unit.workflows.sagas_laws import check, check_at_rest
from tests.unit.workflows.sagas_stage import FAULTS, Stage

EXAMPLES = int(os.environ.get("SAGA_EXAMPLES", "0"))
STEPS = int(os.environ.get("SAGA_STEPS", "14"))
SHRINKS = bool(os.environ.get("SAGA_SHRINK"))
FEW = 30
MOST_CARRIES = 60
CUTS = (
    "liyagent_step", "liyagent_mark", "liyagent_settle", "liyagent_undo_told", "liyagent_finish", "liyagent_hold",
    "liyagent_reserve", "liyagent_fork", "liyagent_flush", "liyagent_wait", "liyagent_pause",
)  # fmt: skip
WORDS = (ApprovalStatus.APPROVED, ApprovalStatus.REJECTED, ApprovalStatus.WITHDRAWN)
ACTS = ("die", "die", "die", "stall", "stop", "stop_round", "compensate", "close", "hold", "contain", "approve")  # fmt: skip
SOME_FAULTS = st.lists(st.sampled_from(("", *FAULTS)), max_size=2)
PLACES = st.integers(0, 7)
# Of what is hindered before anything was made there is nothing to undo.
AFTER_A_WRITE = precondition(lambda machine: bool(machine.stage.ledger))
REFUSED: tuple[tuple[str, ...], ...] = (("v/keyed", "v/blind"), ("v/readable", "v/look"), ("v/*",))


class Sagas(RuleBasedStateMachine):
    """One run, and all that may happen to it."""

    stage: ClassVar[Stage]

    @initialize(drawn=runs(), faults=SOME_FAULTS)
    def begin(self, drawn: Drawn, faults: list[str]) -> None:
        self.stage.begin(drawn)
        self.stage.faults.extend(faults)

    @rule(faults=SOME_FAULTS)
    def carried(self, faults: list[str]) -> None:
        self.stage.faults.extend(faults)
        self.stage.carry()

    @rule(faults=SOME_FAULTS)
    def time_passes_and_it_is_carried(self, faults: list[str]) -> None:
        self.stage.faults.extend(faults)
        self.stage.pass_time()
        self.stage.carry()

    @rule(
        faults=SOME_FAULTS,
        function=st.sampled_from(CUTS),
        nth=st.integers(0, 3),
        is_after=st.booleans(),
        act=st.sampled_from(ACTS),
    )
    def carried_while(
        self, faults: list[str], function: str, nth: int, is_after: bool, act: str
    ) -> None:
        self.stage.faults.extend(faults)
        self.stage.pass_time()
        acts: dict[str, Callable[[], Any]] = {
            "die": self.stage.die,
            "stall": self.stage.stall,
            "stop": lambda: self._stop("root"),
            "stop_round": lambda: self._stop("undo:"),
            "compensate": lambda: self._pressed(self._root()),
            "close": self.closed,
            "hold": self.held,
            "contain": self.contained,
            "approve": lambda: self._word(0, ApprovalStatus.APPROVED),
        }
        with self.stage.cut(function, nth=nth, is_after=is_after, act=acts[act]):
            self.stage.carry()

    @precondition(lambda self: self.stage.dead)
    @rule(is_proven=st.booleans())
    def the_dead_are_found(self, is_proven: bool) -> None:
        self.stage.bury(is_proven=is_proven)

    @AFTER_A_WRITE
    @rule()
    def held(self) -> None:
        self.stage.agent(write_posture="hold")

    @AFTER_A_WRITE
    @rule(patterns=st.sampled_from(REFUSED))
    def refused(self, patterns: tuple[str, ...]) -> None:
        self.stage.agent(tool_patterns=list(patterns))

    @AFTER_A_WRITE
    @rule()
    def contained(self) -> None:
        self.stage.agent(is_contained=True)

    @rule()
    def allowed(self) -> None:
        self.stage.allow()

    @rule(place=PLACES, word=st.sampled_from(WORDS))
    def decided(self, place: int, word: ApprovalStatus) -> None:
        self._word(place, word)

    @rule(place=PLACES)
    def nobody_decides_in_time(self, place: int) -> None:
        if asked := self._asked():
            self.stage.sql(
                "UPDATE approvals_approval SET expires_at = liyagent_now() WHERE id = %s",
                asked[place % len(asked)].id,
            )
            expire_due()

    @AFTER_A_WRITE
    @rule()
    def stopped(self) -> None:
        self._stop("root")

    @rule()
    def its_round_is_stopped(self) -> None:
        self._stop("undo:")

    @rule(place=PLACES, is_lie=st.booleans())
    def a_person_says_what_happened(self, place: int, is_lie: bool) -> None:
        """The truth, or that it happened where it did not: who says falsely that it did not has it made again."""
        doubts = list(
            Call.objects.filter(fate="unknown", run_id__in=[it.id for it in self.stage.runs()])
        )
        if not doubts:
            return
        call = doubts[place % len(doubts)]
        row = next((it for it in self.stage.ledger if it["key"] == call.step_key), None)
        self.stage.pass_time()
        with suppress(LiyagentError):
            if row is not None:
                it_happened(call_id=call.id, result=row, actor="olga", reason="seen")
            elif is_lie:
                it_happened(call_id=call.id, result=None, actor="olga", reason="so I was told")
                self.stage.lies.add(call.id)
            else:
                it_did_not(call_id=call.id, actor="olga", reason="not there")

    @rule()
    def compensated_by_two_at_once(self) -> None:
        root = self._root()
        told = at_once(*[lambda: compensate_run(run_id=root.id, actor="olga")] * 2)
        began = {it.round for it in told if isinstance(it, Saga)}
        assert len(began) <= 1, told

    @rule()
    def closed(self) -> None:
        with suppress(LiyagentError):
            close_saga(run_id=self._root().id, actor="olga", reason="by hand")

    @rule()
    def looked_for_late(self) -> None:
        self.stage.sql(
            "UPDATE runs_call SET late_look_at = liyagent_now() WHERE late_look_at IS NOT NULL"
        )
        look_late()

    @rule()
    def swept(self) -> None:
        hand_off_due()

    @invariant()
    def it_holds(self) -> None:
        if self.stage.mission:
            check(self.stage)

    def teardown(self) -> None:
        """Let all that can be carried be carried; then let people decide what they are asked, and again."""
        if not self.stage.made and not self.stage.runs():
            return
        self.stage.allow()
        self._rest()
        for request in self._asked():
            if request.kind == "call":
                self._say(request, ApprovalStatus.APPROVED)
        self._rest()

    def _rest(self) -> None:
        stage = self.stage
        for _ in range(MOST_CARRIES):
            stage.bury(is_proven=False)
            stage.pass_time()
            open_ones = [it for it in stage.runs() if it.status in {"queued", "running"}]
            if not open_ones:
                break
            stage.carry()
        else:
            raise AssertionError(f"it does not come to rest: {open_ones}")
        hand_off_due(limit=200)
        check_at_rest(stage)

    def _root(self) -> Run:
        return next(it for it in self.stage.runs() if it.loop == "root")

    def _stop(self, loop: str) -> None:
        for run in self.stage.runs():
            if run.loop.startswith(loop):
                with suppress(LiyagentError):
                    stop_run(run_id=run.id, actor="olga", reason="wrong host")

    def _pressed(self, root: Run) -> None:
        with suppress(LiyagentError):
            compensate_run(run_id=root.id, actor="olga")

    def _asked(self) -> list[Approval]:
        asked = Approval.objects.filter(mission=self.stage.mission, status="pending")
        return list(asked.order_by("created_at", "id"))

    def _word(self, place: int, word: ApprovalStatus) -> None:
        if asked := self._asked():
            self._say(asked[place % len(asked)], word)

    def _say(self, request: Approval, word: ApprovalStatus) -> None:
        digest = "" if word is ApprovalStatus.WITHDRAWN else request.digest
        with suppress(LiyagentError):
            decide(approval_id=request.id, status=word, actor="olga", reason="seen", digest=digest)


@pytest.mark.promise("SG-04", "SG-05", "SG-06", "SG-07", "SG-09", "SG-11")
@pytest.mark.timeout(300 + EXAMPLES * 30)
def test_whatever_happens_none_is_undone_twice_and_none_is_lost(
    works: Works, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0, lease_seconds=0.2)
    let_decide("olga")
    monkeypatch.setattr(Sagas, "stage", Stage(works=works, patch=monkeypatch), raising=False)
    run_state_machine_as_test(Sagas, settings=tried())


def tried() -> tries:
    """How much is tried; to make a failure smaller takes minutes, and is asked for."""
    return tries(
        max_examples=EXAMPLES or FEW,
        stateful_step_count=STEPS,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if SHRINKS else [Phase.generate],
    )
