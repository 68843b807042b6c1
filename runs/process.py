"""One app process: web server, runner, renewal, watch and a cluster, drained together (house, section 10)."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType

import uvicorn
from django.conf import settings
from django.db import connection

from liyagent.approvals.deliver import deliver_due
from liyagent.core.database import close_hot_pool
from liyagent.core.readiness import STATE
from liyagent.gateway import wire
from liyagent.leases.holding import end_holder, start_draining
from liyagent.leases.identity import own_identity, own_name
from runs.carriers import Carriers
from runs.cluster_child import ClusterChild
from runs.late_look import look_late
from runs.listen import listen_until
from runs.new_life import begin_life
from runs.renewal import Renewal
from runs.rounds import ROUNDS, Round, go_round, go_when_rung, ring
from runs.runner import Runner
from runs.threads import LastingThread
from runs.warm_up import warm_up
from runs.watch import Watch

logger = logging.getLogger(__name__)

WEB_GRACE_SECONDS = 5
CLUSTER_GRACE_SECONDS = 5
# Nobody waits for what is old to be forgotten.
KEEPING_SWEEPS = 5
# What a process that carries one run may take beyond its drain before it is killed.
CARRIER_GRACE_SECONDS = 10


class WebServer(uvicorn.Server):
    """uvicorn whose signals are ours: a first SIGTERM drains the runs before the web server goes."""

    def __init__(self, config: uvicorn.Config, *, on_tick: Callable[[], None]) -> None:
        """`on_tick` is called ten times a second in the thread that serves: the main one."""
        super().__init__(config)
        self._each_tick = on_tick

    async def on_tick(self, counter: int) -> bool:
        """Do what must be done in the main thread; then uvicorn's own: whether to end."""
        self._each_tick()
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the handlers that the process has set."""
        yield


class Process:
    """Starts the threads, serves until told to end, and hands over what it carries."""

    def __init__(self, *, host: str, port: int, has_cluster: bool) -> None:
        """Register this life as a holder."""
        self.identity = own_identity()
        self.holder = begin_life(self.identity)
        self.runner = Runner(self.holder, name=own_name())
        self.renewal = Renewal(self.runner, register=lambda: begin_life(self.identity))
        self.watch = Watch(self.runner, identity=self.identity)
        self.ended = threading.Event()
        self.is_broken = False
        self.threads: list[threading.Thread] = []
        self.cluster = ClusterChild() if has_cluster else None
        self.carriers = Carriers()
        self.web = WebServer(
            uvicorn.Config(
                "liyagent.asgi:application",
                host=host,
                port=port,
                log_config=None,
                lifespan="off",
                # It believes X-Forwarded-For of whoever comes from this host; ours is LIYAGENT_PROXIES.
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=WEB_GRACE_SECONDS,
            ),
            on_tick=self._look_after_cluster,
        )

    def serve(self) -> None:
        """Run until SIGTERM or SIGINT, then drain and return. A second signal ends the process at once."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        self._start("renewal", lambda: self.renewal.renew_until(self.ended))
        self._start("watch", lambda: self.watch.watch_until(self.ended))
        self._start("listen", lambda: listen_until(self.ended))
        self._start("runner", self.runner.take_until_drained)
        self._start("carriers", lambda: self.carriers.look_until(self.runner.draining))
        self._start_rounds()
        threading.Thread(target=warm_up, name="warm up", daemon=True).start()
        STATE.reasons.discard("starting")
        self.web.run()
        self._end()
        if self.is_broken:
            sys.exit(1)

    def _start_rounds(self) -> None:
        """Those that somebody waits for have a thread each, as have those that wait for others; the rest have one."""
        alone = {
            "late look": Round(look=lambda _give_up: look_late()),
            "notices": Round(look=lambda give_up: deliver_due(give_up=give_up)),
        }
        for name, it in alone.items():
            self._start(name, partial(go_round, {name: it}, ended=self.ended))
        rung = {name: it for name, it in ROUNDS.items() if it.due}
        bells = {name: threading.Event() for name in rung}
        for name, it in rung.items():
            self._start(name, partial(go_when_rung, name, it, bell=bells[name], ended=self.ended))
        self._start("bell", partial(ring, rung, bells, ended=self.ended))
        rest = {name: it for name, it in ROUNDS.items() if not it.due}
        self._start("keeping", partial(go_round, rest, ended=self.ended, sweeps=KEEPING_SWEEPS))

    def _look_after_cluster(self) -> None:
        if self.cluster is not None and not STATE.is_draining:
            self.cluster.look()

    def _start(self, name: str, work: Callable[[], None]) -> None:
        thread = LastingThread(
            name, work, is_ending=self.runner.draining.is_set, on_death=self._end_broken
        )
        thread.start()
        self.threads.append(thread)

    def _end_broken(self) -> None:
        """Hand over and end with a code that says so; whoever runs the process starts it again."""
        if self.is_broken or STATE.is_draining:
            return
        self.is_broken = True
        os.kill(os.getpid(), signal.SIGTERM)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if STATE.is_draining:
            logger.warning("second signal: ending at once")
            os._exit(128 + number)
        STATE.is_draining = True
        threading.Thread(target=self._drain, name="drain", daemon=True).start()

    def _drain(self) -> None:
        """Hand over without a loss (ruling 10), then let the web server finish what it is answering."""
        logger.info("draining for up to %s s", settings.LIYAGENT.drain_seconds)
        try:
            self.carriers.ask_to_end()
            if self.cluster is not None:
                self.cluster.ask_to_end()
            start_draining(self.runner.holder)
            self.runner.drain(seconds=settings.LIYAGENT.drain_seconds)
        finally:
            connection.close()
            self.web.should_exit = True

    def _end(self) -> None:
        """The web server is gone: hand over if no drain did, and leave nothing behind."""
        if not self.runner.ended.is_set():
            self.runner.drain(seconds=0)
        self.ended.set()
        wire.close_all()
        self.carriers.end(seconds=settings.LIYAGENT.drain_seconds + CARRIER_GRACE_SECONDS)
        if self.cluster is not None:
            self.cluster.end(seconds=CLUSTER_GRACE_SECONDS)
        for thread in self.threads:
            thread.join(timeout=2)
        end_holder(self.runner.holder)
        connection.close()
        close_hot_pool()
