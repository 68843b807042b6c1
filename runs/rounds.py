"""What each process does again and again besides runs: a table that higher rooms fill when the process starts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from django.conf import settings
from django.db import connection

logger = logging.getLogger(__name__)

# One look: does what is due, claims each thing itself, and stops early when what it is given says so.
Look = Callable[[Callable[[], bool]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A look, and how often: each `LIYAGENT_POLL_SECONDS` where somebody waits for it, else each `LIYAGENT_SWEEP_SECONDS`."""

    look: Look
    is_waited_for: bool = False


ROUNDS: dict[str, Round] = {}


def go_round(name: str, it: Round, *, ended: Event) -> None:
    """Look again and again, on a thread of its own, until `ended`; a look that fails is told, and the next goes on.

    Whatever it fails by: one odd row must not end this process, and then each that finds it. The database is given back
    between looks.
    """
    conf = settings.LIYAGENT
    while not ended.wait(conf.poll_seconds if it.is_waited_for else conf.sweep_seconds):
        try:
            it.look(ended.is_set)
        except Exception:
            logger.exception("%s: a look went wrong; the next goes on", name)
        finally:
            connection.close()
