"""What each process does again and again besides runs: a table that higher rooms fill when the process starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error, connection

logger = logging.getLogger(__name__)

# One look: does what is due, claims each thing itself, and stops early when what it is given says so.
Look = Callable[[Callable[[], bool]], object]


def _no_values() -> Sequence[Any]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A look, and when it is made.

    Where somebody waits for it, `due` is an SQL expression with `values` that is true while there is something to do. One
    statement each `LIYAGENT_POLL_SECONDS` asks all of them, and those alone look. Else it looks now and then.
    """

    look: Look
    due: str = ""
    values: Callable[[], Sequence[Any]] = _no_values


ROUNDS: dict[str, Round] = {}


def go_round(it: Mapping[str, Round], *, ended: Event, sweeps: int = 1) -> None:
    """Make these looks one after the other, each so many `LIYAGENT_SWEEP_SECONDS`, until `ended`."""
    while not ended.wait(settings.LIYAGENT.sweep_seconds * sweeps):
        for name, each in it.items():
            if not ended.is_set():
                _look(name, each, ended)
        connection.close()


def go_when_rung(name: str, it: Round, *, bell: Event, ended: Event) -> None:
    """Look each time that `bell` is set, until `ended`; meanwhile there is no connection."""
    while True:
        bell.wait()
        bell.clear()
        if ended.is_set():
            return
        _look(name, it, ended)
        connection.close()


def ring(rounds: Mapping[str, Round], bells: Mapping[str, Event], *, ended: Event) -> None:
    """Set the bells of those rounds that have something to do, and all of them at the end.

    One statement and one connection, however many ways in there are: a process with nothing to do is to cost nothing.
    """
    while not ended.wait(settings.LIYAGENT.poll_seconds):
        try:
            found = due_of(rounds)
        except (Error, psycopg.Error):
            logger.warning(
                "the database tells nobody what is due; it is asked again", exc_info=True
            )
            connection.close()
            continue
        for name in found:
            bells[name].set()
    connection.close()
    for bell in bells.values():
        bell.set()


def due_of(rounds: Mapping[str, Round]) -> list[str]:
    """Return the names of the rounds that have something to do. Raises the database's errors."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(f'({it.due})' for it in rounds.values())}",
            [value for it in rounds.values() for value in it.values()],
        )
        (*told,) = cursor.fetchone()
    return [name for name, is_due in zip(rounds, told, strict=True) if is_due]


def _look(name: str, it: Round, ended: Event) -> None:
    """Look once. Whatever it fails by: one odd row must not end this process, and then each that finds it."""
    try:
        it.look(ended.is_set)
    except Exception:
        logger.exception("%s: a look went wrong; the next goes on", name)
        connection.close()
