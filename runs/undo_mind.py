"""What is owed decides: the undos of a root run, the newest first, each a step with one call (SG-05 to SG-07)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.outcome import Call, Fate, Outcome
from liyagent.providers.types import Finish, ModelAnswer, ToolCall
from runs import hot
from runs.approved_run import LOOP as APPROVED
from runs.attempt import Attempt
from runs.authority import AgentNow, agent_now, refusal_of
from runs.checkpoint import Checkpoint, stored_rows
from runs.conversation import Pending, messages_of
from runs.delegate import come_back
from runs.ending import Ending, failed
from runs.endings import EndError
from runs.errors import CheckpointBroken
from runs.manner import Manner
from runs.marks import place_of
from runs.mind import Mind
from runs.models import Call as MarkedCall
from runs.models import Run, RunStatus
from runs.rest import REST, REST_NAME, rest, rest_call
from runs.scope import RunScope
from runs.step import count_step
from runs.tell_start import tell_start
from runs.undo_ride import UNDO_OUTCOME, open_undo, sealer_of_undo
from runs.undo_run import LOOP
from sagas.models import Undo, UndoFate

MOST_TRIES = 3
OWED = (
    "saga_id = %s AND fate IN ('owed', 'failed') AND \"order\" < %s ORDER BY \"order\" DESC LIMIT 1"
)
ONE = 'saga_id = %s AND "order" = %s'
TOLD = hot.with_events(
    "SELECT * FROM liyagent_undo_told(%s, %s, %s, %b, %s, %s, %s, %b, %s, EVENTS)"
)
AT_IT = (
    "SELECT 1 FROM runs_run WHERE correlation_id = %s AND id <> %s AND ended_at IS NULL"
    " AND loop NOT LIKE 'approved:%%' LIMIT 1"
)
COUNTS = "SELECT fate, count(*)::int FROM sagas_undo WHERE saga_id = %s GROUP BY fate"
# What a round before, or the run of its approval, came to with it. Rounds are few, and each is read by its run.
SENT = (
    "SELECT c.fate FROM runs_run r JOIN runs_call c ON c.run_id = r.id WHERE r.correlation_id = %s"
    " AND (r.loop LIKE 'undo:%%' AND c.step_key = %s OR r.loop = %s) AND r.id <> %s AND c.fate IN ('done', 'unknown')"
    " ORDER BY c.fate LIMIT 1"
)
FIRST = f"{LOOP}1"
ROW_EDITED = "a round before sent it, and its row was changed since"
HIGHEST = (1 << 31) - 1
FATES = {
    Fate.DONE: UndoFate.DONE,
    Fate.FAILED: UndoFate.FAILED,
    Fate.REFUSED: UndoFate.FAILED,
    Fate.HELD: UndoFate.HELD,
    Fate.UNKNOWN: UndoFate.UNKNOWN,
}


class UndoScope(RunScope):
    """Calls that undo: keyed from the run and the step that they undo, and never undone themselves."""

    def __init__(
        self, checkpoint: Checkpoint, manner: UndoManner, *, step: int, step_ids: list[str]
    ) -> None:
        """`manner` knows the undo, and hears that it was told of."""
        super().__init__(checkpoint, step=step, step_ids=step_ids)
        self._manner = manner

    def step_key(self, call: Call) -> str:
        """Return the undo's key, however often it is sent (SG-06)."""
        if call.name == REST_NAME:
            return super().step_key(call)
        self.keys[call.index] = self.checkpoint.undo_key
        return self.keys[call.index]

    def _has_identity(self, call: Call) -> bool:
        return True

    def _undo(self, call: Call, outcome: Outcome) -> hot.SagaRide:
        """One that was made is stored as such in the commit that settles its call, and told there."""
        if outcome.fate is Fate.DONE and self._manner.undo is not None:
            tries = _place(call.provider_call_id)[1]
            tell_undone(self.checkpoint, self._manner.undo, UndoFate.DONE, tries=tries)
            self._manner.told_id = call.provider_call_id
        return hot.NO_UNDO


class UndoManner(Manner):
    """One that is held is filed and not waited for (SG-07); before a further try it rests."""

    may_wait = False
    own = {REST_NAME: REST}

    def __init__(self) -> None:
        """Before the first undo."""
        self.undo: Undo | None = None
        # The call that was told of in the commit that settled it.
        self.told_id = ""

    def scope(self, checkpoint: Any, pending: Pending) -> RunScope:
        """Return the scope of an undo."""
        step_ids = [it.id for it in pending.calls]
        return UndoScope(checkpoint, self, step=pending.step, step_ids=step_ids)

    def look(self, scope: RunScope, call: Call, row: MarkedCall | None) -> Outcome:
        """Answer once the rest is over."""
        return rest(scope, call)


class UndoMind(Mind):
    """Goes through what is owed, from the newest down; one that fails keeps no older one from being made (FL-59)."""

    def __init__(self, attempt: Attempt) -> None:
        attempt.manner = self._manner = UndoManner()
        self._attempt = attempt
        self._checkpoint = attempt.checkpoint
        self._began = attempt.run.created_at
        self._undo: Undo | None = None
        self._came: dict[str, int] = {}

    def begin(self, agent: AgentNow) -> None:
        """Take up the undo of the last step written, as whoever made its write."""
        checkpoint, attempt = self._checkpoint, self._attempt
        if not checkpoint.is_start_told:
            tell_start(checkpoint, holder=attempt.carrier.holder)
            self._tell_round()
        attempt.messages = messages_of(checkpoint.parts, instructions="")
        attempt.kept = len(attempt.messages)
        if len(checkpoint.parts) > 1:
            order, _ = _place(checkpoint.parts[-1]["calls"][-1]["id"])
            (undo,) = self._stored(ONE, order)
            self._take_up(undo)

    def next(self) -> ModelAnswer | Ending:
        """Tell what came of the last undo; return the next try, or the end once nothing more is owed."""
        again = self._hear() if self._undo is not None else None
        self._act_as("", None, "")
        self._attempt.may_go_on()
        if self._undo is None:
            self._wait_for_family()
        if again is not None and self._undo is not None:
            return self._step(self._undo, tries=again)
        below = self._undo.order if self._undo is not None else HIGHEST
        while found := self._stored(OWED, below):
            below = found[0].order
            if self._may_be_made(found[0]):
                return self._step(found[0], tries=1)
        return self._ended()

    def _tell_round(self) -> None:
        run = self._checkpoint.run
        counts = self._counts()
        undos = sum(counts.get(it.value, 0) for it in (UndoFate.OWED, UndoFate.FAILED))
        number = int(run.loop.removeprefix(LOOP))
        self._checkpoint.events.add("saga.compensating", round=number, undos=undos)

    def _counts(self) -> dict[str, int]:
        values = (self._checkpoint.run.correlation_id,)
        return dict(hot.ask(COUNTS, values, give_up=self._checkpoint.give_up))

    def _wait_for_family(self) -> None:
        """What below the root is at it still was stopped with it, and what it does until then is undone too.

        Raises `HandedBack` until all of it has ended.
        """
        run = self._checkpoint.run
        if hot.ask(AT_IT, (run.correlation_id, run.id), give_up=self._checkpoint.give_up):
            raise come_back(self._checkpoint)

    def _stored(self, where: str, order: int) -> list[Undo]:
        values = (self._checkpoint.run.correlation_id, order)
        return stored_rows(Undo, where, values, give_up=self._checkpoint.give_up)

    def _take_up(self, undo: Undo) -> dict[str, Any]:
        """Stand in for whoever made the write. Raises `HandedBack` where its key is not here."""
        try:
            kept = open_undo(undo)
        except KeyMissing as error:
            raise come_back(self._checkpoint) from error
        self._undo = self._manner.undo = undo
        own = self._checkpoint.run.agent_key
        acting = kept["agent"] if kept["agent"] != own or kept["chain"] else ""
        self._act_as(acting, tuple(kept["chain"]) if acting else None, kept["key"])
        return kept

    def _act_as(self, agent: str, chain: tuple[str, ...] | None, key: str) -> None:
        self._checkpoint.acting_as, self._checkpoint.acting_below = agent, chain
        self._checkpoint.undo_key = key

    def _may_be_made(self, undo: Undo) -> bool:
        """Whether it can be opened and its agent works; else it is left for the person, and why is told."""
        try:
            open_undo(undo)
        except KeyMissing as error:
            raise come_back(self._checkpoint) from error
        except (SealBroken, CheckpointBroken) as error:
            self._tell(undo, UndoFate.FAILED, tries=0, note=f"it does not verify: {error}")
            return False
        agent = agent_now(undo.agent_key, config=self._checkpoint.config)
        refusal = refusal_of(Run(agent_key=undo.agent_key), agent)
        if refusal is not None:
            self._tell(undo, UndoFate.FAILED, tries=0, note=refusal[1])
            return False
        return not self._was_sent(undo)

    def _was_sent(self, undo: Undo) -> bool:
        """Whether an earlier round made it, or may have, whatever its row says: that is in no seal, and marks are."""
        run = self._checkpoint.run
        if run.loop == FIRST:
            return False
        values = (run.correlation_id, undo.key, f"{APPROVED}{undo.approval}", run.id)
        found = hot.ask(SENT, values, give_up=self._checkpoint.give_up)
        if found:
            fate = UndoFate.DONE if found[0][0] == Fate.DONE else UndoFate.UNKNOWN
            self._tell(undo, fate, tries=undo.tries, note=ROW_EDITED)
        return bool(found)

    def _step(self, undo: Undo, *, tries: int) -> ModelAnswer:
        kept = self._take_up(undo)
        call = ToolCall(
            id=f"undo-{undo.order}-{tries}",
            name=f"{undo.server}/{undo.tool}",
            arguments_text="",
            args=kept["args"],
        )
        calls: tuple[ToolCall, ...] = (call,)
        if tries > 1:
            seconds = settings.LIYAGENT.undo_backoff_seconds * 2 ** (tries - 2)
            until = self._checkpoint.database_time() + timedelta(seconds=seconds)
            calls = (rest_call(f"rest-{undo.order}-{tries}", until), call)
        answer = ModelAnswer(text="", calls=calls, finish=Finish.CALLS)
        count_step(self._checkpoint, answer, model="")
        return answer

    def _hear(self) -> int | None:
        """Tell what came of the step that was made; the number of its next try where it is to be tried again (SG-07)."""
        undo, outcome = self._undo, self._attempt.last
        if undo is None or outcome is None:
            return None
        _order, tries = _place(self._attempt.last_id)
        if outcome.fate is Fate.FAILED and tries < MOST_TRIES:
            return tries + 1
        fate = FATES[outcome.fate]
        note = outcome.error if outcome.fate is Fate.REFUSED else ""
        if fate is UndoFate.DONE and self._manner.told_id == self._attempt.last_id:
            self._count(fate)
            return None
        is_of_this_round = undo.settled_at is not None and undo.settled_at >= self._began
        is_told = is_of_this_round and (undo.fate, undo.tries) == (fate.value, tries)
        if fate is not UndoFate.HELD and is_told:
            # Told by an attempt before, which ended before it could write the next step.
            return None
        self._tell(undo, fate, tries=tries, note=note, outcome=outcome)
        return None

    def _tell(
        self, undo: Undo, fate: UndoFate, *, tries: int, note: str, outcome: Outcome | None = None
    ) -> None:
        """Store and tell what came of an undo, in a commit of its own; told again after a crash, it changes nothing."""
        checkpoint = self._checkpoint
        self._count(fate)
        tell_undone(checkpoint, undo, fate, tries=tries)
        sealed = None
        if outcome is not None and outcome.fate is not Fate.DONE:
            sealed = sealer_of_undo(undo).seal(
                {"error": outcome.error}, kind=UNDO_OUTCOME, number=place_of(undo.step, undo.index)
            )
        fence = checkpoint.next_fence()
        values = (
            fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), undo.id, fate.value, tries, sealed,
            note[:500],
        )  # fmt: skip
        rows = hot.ask(TOLD, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
        told = hot.told_of(rows, fence)
        checkpoint.events.clear()
        checkpoint.written(told)

    def _count(self, fate: UndoFate) -> None:
        self._came[fate.value] = self._came.get(fate.value, 0) + 1

    def _ended(self) -> Ending:
        """How the round ends: answered where all that it tried is undone."""
        counts = self._counts()
        left = {name: count for name, count in counts.items() if name != UndoFate.DONE}
        self._checkpoint.events.add(
            "saga.ended",
            tried=sum(self._came.values()),
            **{name: counts.get(name, 0) for name in ("done", "held", "failed", "unknown")},
        )
        done = counts.get(UndoFate.DONE.value, 0)
        if not left:
            return Ending(status=RunStatus.ANSWERED, answer=f"All {done} undos were made.")
        told = ", ".join(f"{count} {name}" for name, count in sorted(left.items()))
        return failed(
            EndError.UNDO_LEFT, f"{done} of {sum(counts.values())} undos were made; {told}"
        )


def tell_undone(checkpoint: Checkpoint, undo: Undo, fate: UndoFate, *, tries: int) -> None:
    """Buffer what came of an undo."""
    checkpoint.events.add(
        "saga.undone",
        step=undo.step,
        index=undo.index,
        server=undo.of_server,
        tool=undo.of_tool,
        order=undo.order,
        fate=fate.value,
        key=undo.key,
        tries=tries,
    )


def _place(call_id: str) -> tuple[int, int]:
    """Order and try of an undo's call."""
    _, order, tries = call_id.split("-")
    return int(order), int(tries)
