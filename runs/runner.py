"""The runner: takes queued runs through the one door and carries each in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection

from liyagent.core.logs import log_context
from liyagent.core.metrics import RUN_SLOTS, RUNS_CARRIED
from liyagent.gateway import wire
from missions.context import stamped
from runs import hot
from runs.attempt import Carrier
from runs.checkpoint import keyring, load
from runs.errors import LostLease
from runs.loop import carry_run
from runs.models import CHECKPOINT_FORMAT, MINDED_FORMAT
from runs.recovery import claimed, taken
from runs.stamp import stamp_of
from runs.wake import QUEUED

logger = logging.getLogger(__name__)

FORMATS = (CHECKPOINT_FORMAT, MINDED_FORMAT)
HAND_OVER_SECONDS = 5
AGAIN_SECONDS = 0.5


@dataclass(slots=True, kw_only=True)
class Carried:
    """An attempt that this process carries; `lost` once it is known to be another's."""

    run_id: UUID
    attempt: int
    lost: Event = field(default_factory=Event)
    thread: Thread | None = None


class Runner:
    """Carries up to `slots` runs, and resumed ones up to twice that (ruling 12)."""

    def __init__(self, holder: UUID, *, name: str) -> None:
        """`holder` is this life of the process; `name` is for people."""
        self.holder = holder
        self.name = name
        self.slots = settings.LIYAGENT.run_slots
        self.draining = Event()
        self.ended = Event()
        self._carried: dict[UUID, Carried] = {}
        self._lock = Lock()
        RUN_SLOTS.set(self.slots)
        RUNS_CARRIED.set_function(lambda: len(self._carried))

    def carried(self) -> list[Carried]:
        """Return what is carried now."""
        with self._lock:
            return list(self._carried.values())

    def take_until_drained(self) -> None:
        """The take loop: at once when a run was queued here, else at each poll."""
        while not self.draining.is_set():
            try:
                self._adopt_unseen()
                self._take_until_drained()
            except LostLease:
                logger.info("takes nothing more: draining while the database is away")
            except Exception:
                logger.exception("a take went wrong; the next goes on")
                self.draining.wait(AGAIN_SECONDS)

    def _take_until_drained(self) -> None:
        while not self.draining.is_set():
            QUEUED.clear()
            if not self._take_once():
                QUEUED.wait(settings.LIYAGENT.poll_seconds)

    def lose_all(self) -> None:
        """This holder is unknown to the database: everything it carried is another's."""
        for it in self.carried():
            it.lost.set()

    def drain(self, *, seconds: float) -> None:
        """Take nothing more; let each run reach a boundary and go back; after `seconds`, give back the rest."""
        self.draining.set()
        QUEUED.set()
        until = time.monotonic() + seconds
        while self.carried() and time.monotonic() < until:
            time.sleep(0.02)
        self.ended.set()
        try:
            if self.carried():
                wire.close_all()
        finally:
            self._hand_over_the_rest(until=time.monotonic() + HAND_OVER_SECONDS)
            self.lose_all()

    def _hand_over_the_rest(self, *, until: float) -> None:
        """Where the database is away the runs are found by their neighbours, once this process is gone."""
        try:
            given = hot.hand_over(self.holder, give_up=lambda: time.monotonic() > until)
        except LostLease:
            logger.exception("nothing could be handed over")
            return
        if given:
            logger.warning("handed over %d runs in the middle of a step", len(given))

    def _take_once(self) -> bool:
        """Take what there is room for; whether there may be more at once."""
        busy = len(self.carried())
        again, fresh = max(0, 2 * self.slots - busy), max(0, self.slots - busy)
        if not again:
            return False
        ring = keyring()
        asked_again = False

        def give_up() -> bool:
            nonlocal asked_again
            asked_again = True
            return self.draining.is_set()

        found = hot.take(
            self.holder,
            again=again,
            fresh=fresh,
            formats=FORMATS,
            key_ids=ring.ids,
            give_up=give_up,
        )
        for run_id, attempt in found:
            taken(run_id, attempt=attempt)
        self.carry_in_threads(found)
        if asked_again:
            self._adopt_unseen()
        return bool(found)

    def _adopt_unseen(self) -> None:
        """Carry running rows of this holder that no thread has: a take whose answer was lost."""
        known = {(it.run_id, it.attempt) for it in self.carried()}
        mine = hot.mine(self.holder, give_up=self.draining.is_set)
        self.carry_in_threads([it for it in mine if it not in known])

    def carry_in_threads(self, found: Sequence[tuple[UUID, int]]) -> None:
        """Carry these, each in a thread of its own; all are known as carried before the first thread starts.

        Those that run already slow down how the others start: of many, the last would be found without a thread twice.
        """
        waiting = deque(self._known(run_id, attempt) for run_id, attempt in found)
        try:
            while waiting:
                self._start(waiting[0])
                waiting.popleft()
        except RuntimeError:
            # A limit of processes or memory: what is not carried must not look as if it were.
            for it in waiting:
                self._forget(it)
            raise

    def _known(self, run_id: UUID, attempt: int) -> Carried:
        carried = Carried(run_id=run_id, attempt=attempt)
        with self._lock:
            before = self._carried.get(run_id)
            if before is not None:
                before.lost.set()
            self._carried[run_id] = carried
        return carried

    def _start(self, carried: Carried) -> None:
        carried.thread = threading.Thread(
            target=self._carry, args=(carried,), name=f"run-{carried.run_id}", daemon=True
        )
        carried.thread.start()

    def _carry(self, carried: Carried) -> None:
        def give_up() -> bool:
            return carried.lost.is_set() or self.ended.is_set()

        carrier = Carrier(holder=self.name, give_up=give_up, hand_over=self.draining.is_set)
        with log_context(run_id=str(carried.run_id), attempt=carried.attempt):
            try:
                self._carry_on(carried, carrier)
            except LostLease as error:
                logger.warning("this attempt is no longer ours: %s", error)
            except Exception:
                logger.exception("the attempt broke; it counts as a loss")
                self._give_back(carried)
            finally:
                connection.close()
                self._forget(carried)

    def _carry_on(self, carried: Carried, carrier: Carrier) -> None:
        """A database that goes away where Django asks it is no loss (ruling 10): go on from what is stored."""
        while True:
            try:
                # What is read first waits until the database is back.
                stored = load(carried.run_id, attempt=carried.attempt, give_up=carrier.give_up)
                with stamped(stamp_of(stored.run)):
                    carry_run(stored, carrier)
            except (OperationalError, InterfaceError, InternalError) as error:
                logger.warning("the database went away under this attempt, it goes on: %s", error)
                connection.close()
                time.sleep(AGAIN_SECONDS)
            else:
                return

    def _give_back(self, carried: Carried) -> None:
        try:
            place = [(carried.run_id, carried.attempt)]
            found = hot.claim(place, cause="error", give_up=carried.lost.is_set)
            claimed(found, cause="error")
        except LostLease:
            logger.warning("could not be given back; the renewal will find it")

    def _forget(self, carried: Carried) -> None:
        with self._lock:
            was_full = len(self._carried) >= self.slots
            if self._carried.get(carried.run_id) is carried:
                del self._carried[carried.run_id]
        if was_full:
            QUEUED.set()  # what found no slot need not wait for the next poll
