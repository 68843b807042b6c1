"""What a victim of the ways in does, one act after another as it is told: serve, fire, carry, hand on (`serve`'s own rounds).

It is a process as `manage.py serve` is one, but its threads take turns: so its messages have an order, and each can be cut.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO
from uuid import UUID

import psycopg
import uvicorn
from django.db import DatabaseError, InterfaceError, connection

from liyagent.core.errors import LiyagentError
from liyagent.core.readiness import STATE
from liyagent.entry.cron.fire import fire_due
from liyagent.entry.deliver import deliver_due
from runs.carry import Carriage
from runs.rounds import Look
from runs.threads import LastingThread

logger = logging.getLogger(__name__)

CARRIED_SECONDS = 0.01
AGAIN_SECONDS = 0.05
MOST_LOOKS = 200


class Life(Carriage):
    """A process that acts until it is told no more."""

    def __init__(self, run_id: UUID) -> None:
        """Register the holder."""
        super().__init__(run_id)
        self._web: uvicorn.Server | None = None
        self._serving: threading.Thread | None = None

    def act(self, first: str, words: TextIO) -> None:
        """Do what each line asks for, and answer it with a line."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        renewing = LastingThread(
            "renewal",
            lambda: self.renewal.renew_until(self.ended),
            is_ending=self.ended.is_set,
            on_death=self.runner.draining.set,
        )
        renewing.start()
        STATE.reasons.discard("starting")
        try:
            line = first
            while line:
                asked = json.loads(line)
                answer = self._does[asked.pop("do")](**asked)
                words.write(json.dumps(answer) + "\n")
                words.flush()
                line = words.readline()
        finally:
            self._end()
            renewing.join(timeout=2)

    @property
    def _does(self) -> dict[str, Callable[..., Any]]:
        return {
            "serve": self._serve,
            "rest": self._rest,
            "fire": lambda: _look(fire_due),
            "carry": self._carry,
            "deliver": lambda way: _look(partial(deliver_due, way=way)),
        }

    def _serve(self) -> int:
        """Answer requests as `manage.py serve` does; the port."""
        web = uvicorn.Server(
            uvicorn.Config(
                "liyagent.asgi:application",
                port=0,
                log_config=None,
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=5,
            )
        )
        self._serving = threading.Thread(target=web.run, name="web", daemon=True)
        self._serving.start()
        while not web.started:
            time.sleep(CARRIED_SECONDS)
        self._web = web
        return int(web.servers[0].sockets[0].getsockname()[1])

    def _rest(self) -> None:
        """Answer no more requests, once those there are have been dealt with."""
        assert self._web is not None
        assert self._serving is not None
        self._web.should_exit = True
        self._serving.join()

    def _carry(self, run: str) -> None:
        """Carry a run until it ends, waits, or is another's."""
        self.run_id = UUID(run)
        if self._take():
            while self.runner.carried() and not self._is_over():
                time.sleep(CARRIED_SECONDS)


def _look(look: Look) -> None:
    """Look, as a round does, until nothing more is due."""
    for _ in range(MOST_LOOKS):
        try:
            if not look(lambda: False):
                return
        except (psycopg.Error, DatabaseError, InterfaceError, LiyagentError):
            logger.exception("a look went wrong; the next goes on")
            time.sleep(AGAIN_SECONDS)
        finally:
            connection.close()
