"""`manage.py compensate RUN_ID|--owed`: undo what failed runs did and is still owed."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, cell, visible
from runs.compensate import compensate_run
from runs.preview_undo import MOST, sagas_owed, to_try
from runs.saga_page import saga_of
from sagas.errors import NothingOwed, SagaClosed, SagaOpen, UndosLeft
from sagas.models import Saga, SagaStatus, Undo

HEADS = ("ORDER", "UNDO", "OF", "RUN", "STEP", "FATE", "TRIES", "NOTE")
LOOK_SECONDS, QUIET_SECONDS = 0.5, 15.0
MOST_WAIT_SECONDS = 86_400
NOBODY = "nothing has changed for a while: is `manage.py serve` running?"


class Command(BaseCommand):
    """Starts rounds, as a person does on a saga's page, and waits until they have ended; processes that serve make the undos."""

    help = "Undo what is still owed: compensate RUN_ID, or all that is with --owed; --dry-run only shows it"

    def add_arguments(self, parser: CommandParser) -> None:
        """Which runs, and whether to wait."""
        parser.add_argument("run", nargs="?", default="", help="the failed run, or any below it")
        parser.add_argument(
            "--owed",
            action="store_true",
            help="each that was tried and has something owed or failed",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be undone, newest first"
        )
        parser.add_argument(
            "--no-wait", action="store_true", help="end once the rounds are started"
        )
        parser.add_argument("--reason", default="", help="kept in the audit log")
        parser.add_argument(
            "--wait-seconds", type=float, default=3600.0, help="how long to wait at most"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Exit with 0 where all is undone, or nothing was owed; else with 1 and one line that says what is left."""
        if bool(options["run"]) == options["owed"]:
            raise BadInput("give the id of a run, or --owed for all that is owed")
        if not 0 <= options["wait_seconds"] <= MOST_WAIT_SECONDS:
            raise BadInput(f"--wait-seconds wants 0 to {MOST_WAIT_SECONDS}")
        if options["dry_run"]:
            self._show(options)
            return
        started = self._start(options)
        if started and not options["no_wait"]:
            self._wait(started, seconds=options["wait_seconds"])

    def _show(self, options: dict[str, Any]) -> None:
        found = sagas_owed() if options["owed"] else [saga_of(_id_of(options["run"]))]
        count = 0
        for saga in found:
            count += 1
            undos = to_try(saga.id, most=MOST + 1)
            told = f"run {saga.id} of {saga.agent_key} is {saga.status}; would be undone, in this order:"
            self.stdout.write(
                visible(told if undos else f"run {saga.id} is {saga.status}: nothing is owed")
            )
            if undos:
                self.stdout.write(aligned(HEADS, [_row(it) for it in undos[:MOST]]))
            if len(undos) > MOST:
                self.stdout.write(f"and {saga.registered - MOST} at most that are older")
        if not count:
            self.stdout.write("Nothing is owed.")

    def _start(self, options: dict[str, Any]) -> list[UUID]:
        if options["run"]:
            saga = compensate_run(
                run_id=_id_of(options["run"]), actor=operator_name(), reason=options["reason"]
            )
            self._tell_started(saga)
            return [saga.id]
        started = []
        for it in sagas_owed():
            try:
                saga = compensate_run(run_id=it.id, actor=operator_name(), reason=options["reason"])
            except (NothingOwed, SagaClosed, SagaOpen) as error:
                # Somebody was at it meanwhile.
                self.stdout.write(visible(f"run {it.id} is left: {error}"))
                continue
            self._tell_started(saga)
            started.append(saga.id)
        if not started:
            self.stdout.write("Nothing is owed.")
        return started

    def _tell_started(self, saga: Saga) -> None:
        self.stdout.write(f"run {saga.id}: round {saga.round} is run {saga.compensating_run}")

    def _wait(self, started: list[UUID], *, seconds: float) -> None:
        """Tell each change until nobody is at any of them. Raises `UndosLeft`."""
        until, seen, open_ones = time.monotonic() + seconds, dict[UUID, str](), set(started)
        changed_at = time.monotonic()
        while open_ones and time.monotonic() < until:
            for saga in Saga.objects.filter(id__in=open_ones).defer("context"):
                told = _standing(saga)
                if seen.get(saga.id) != told:
                    seen[saga.id], changed_at = told, time.monotonic()
                    self.stdout.write(f"run {saga.id}: {told}")
                    self.stdout.flush()
                if saga.status != SagaStatus.COMPENSATING:
                    open_ones.discard(saga.id)
            if time.monotonic() - changed_at > QUIET_SECONDS:
                self.stderr.write(NOBODY)
                changed_at = time.monotonic()
            connection.close()
            time.sleep(min(LOOK_SECONDS, max(0.0, until - time.monotonic())) if open_ones else 0)
        left = Saga.objects.filter(id__in=started).exclude(status=SagaStatus.COMPENSATED).count()
        if left:
            raise UndosLeft(
                f"{left} of {len(started)} are not wholly undone; `GET /api/sagas/RUN_ID`, or the page of a saga, says why"
            )


def _standing(saga: Saga) -> str:
    fates = Counter(Undo.objects.filter(saga_id=saga.id).values_list("fate", flat=True))
    told = ", ".join(f"{number} {fate}" for fate, number in sorted(fates.items()))
    return f"{saga.status}; of {saga.registered} undos {told}"


def _row(undo: Undo) -> tuple[object, ...]:
    name, of = f"{undo.server}/{undo.tool}", f"{undo.of_server}/{undo.of_tool}"
    return undo.order, name, of, undo.run_id, undo.step, undo.fate, undo.tries, undo.note


def _id_of(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(f"{cell(text[:80])!r} is no id of a run") from None
