"""Send spans to the collector, from a thread of their own: nobody waits for it, and what it misses is sent later or counted."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import httpx2
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.metrics import SPANS
from liyagent.core.outbound import guarded_client
from liyagent.core.traces_conf import TracesConf
from liyagent.telemetry.otlp import rejected_in, request_of
from liyagent.telemetry.processors import mission_of

logger = logging.getLogger(__name__)

# A span has some 2 KB, and up to 25 with words: what waits for a collector that is down takes 20 to 50 MB at the most.
MOST_WAITING, MOST_WAITING_WITH_WORDS, MOST_LATER = 10_000, 2_000, 1_000
MOST_A_REQUEST = 512
EVERY_SECONDS = 1.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
TIMEOUT_SECONDS = 10.0
# How long the end of a process waits for what it has still to send.
LAST_SECONDS = 2.0
MOST_ANSWER_BYTES = 1 << 16
# What OTLP says may be sent again; anything else that is no success will never be one.
AGAIN = frozenset({429, 502, 503, 504})
SENT, FULL, REFUSED, NO_MISSION, AT_END = "sent", "full", "refused", "no_mission", "at_end"


class Sending(SpanProcessor):
    """Takes each span that ended, and sends them in batches, the oldest first.

    A collector that is down is asked again and again, with pauses; meanwhile the newest spans are kept, and those that give
    way are counted. Ending a span takes a lock and never the network.
    """

    def __init__(self, conf: TracesConf) -> None:
        """Nothing is started before the first span."""
        self._conf = conf
        self._most = MOST_WAITING_WITH_WORDS if conf.has_words else MOST_WAITING
        self._waiting: deque[ReadableSpan] = deque()
        self._later: deque[partial[None]] = deque()
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        atexit.register(self.end)

    def on_end(self, span: ReadableSpan) -> None:
        """Take it along; one without a mission is not sent (MI-04)."""
        self._take(span, gives_way=False)

    def take_if_there_is_room(self, span: ReadableSpan) -> None:
        """Take it along unless half of the room is taken: anybody can make requests, and theirs push out no run's spans."""
        self._take(span, gives_way=True)

    def _take(self, span: ReadableSpan, *, gives_way: bool) -> None:
        if mission_of(span) is None:
            SPANS.of(NO_MISSION).inc()
            return
        with self._lock:
            if gives_way and len(self._waiting) >= self._most // 2:
                SPANS.of(FULL).inc()
                return
            if len(self._waiting) == self._most:
                self._waiting.popleft()
                SPANS.of(FULL).inc()
            self._waiting.append(span)
            is_much = len(self._waiting) >= MOST_A_REQUEST
        self._run(at_once=is_much)

    def later(self, work: Callable[[int], None]) -> None:
        """Do `work` of this moment on the thread that sends, which may wait; it is dropped, and counted, where too much waits already."""
        with self._lock:
            if len(self._later) == MOST_LATER:
                SPANS.of(FULL).inc()
                return
            self._later.append(partial(work, time.time_ns()))
        self._run(at_once=False)

    def end(self, *, seconds: float = LAST_SECONDS) -> None:
        """Send what waits, for `seconds` at most; the rest is lost with the process, and logged."""
        self._ending.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(seconds)
        if left := len(self._waiting):
            SPANS.of(AT_END).inc(left)
            logger.warning("%d spans were not sent: the process ends", left)

    def _run(self, *, at_once: bool) -> None:
        """Wake the thread, or start it: the first time, and where it was ended by what nobody expected."""
        if at_once:
            self._wanted.set()
        if self._thread is not None and self._thread.is_alive():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            thread = threading.Thread(target=self._send_until_ended, name="traces", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # A limit of processes or memory: the next span tries again, and a run goes on.
                logger.warning("spans wait: %s", error)
                return
            self._thread = thread

    def _send_until_ended(self) -> None:
        host = urlsplit(self._conf.url).hostname or ""
        headers = {**dict(self._conf.headers), "content-type": "application/x-protobuf"}
        # Named by whoever runs this process, and by no row: it may well lie inside.
        with guarded_client(
            allowed_private_hosts=(host,), timeout_seconds=TIMEOUT_SECONDS, headers=headers
        ) as client:
            pause = 0.0
            while not self._is_over():
                # While a collector is down nothing hurries, however much waits.
                if not self._ending.wait(pause):
                    self._wanted.wait(EVERY_SECONDS)
                self._wanted.clear()
                is_up = self._send_all(client)
                pause = (
                    0.0 if is_up else min(2 * pause or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
                )
                if not is_up and self._ending.is_set():
                    return

    def _is_over(self) -> bool:
        return self._ending.is_set() and not self._waiting and not self._later

    def _send_all(self, client: httpx2.Client) -> bool:
        """Send what waits; False where the collector could not be asked."""
        while self._later:
            self._later.popleft()()
        while self._waiting:
            with self._lock:
                batch = [
                    self._waiting.popleft() for _ in range(min(MOST_A_REQUEST, len(self._waiting)))
                ]
            if not self._send(client, batch):
                self._put_back(batch)
                return False
        return True

    def _put_back(self, batch: list[ReadableSpan]) -> None:
        """In front, where they came from; what came meanwhile goes before them where there is no room for all."""
        with self._lock:
            room = self._most - len(self._waiting)
            kept = batch[max(0, len(batch) - room) :]
            SPANS.of(FULL).inc(len(batch) - len(kept))
            self._waiting.extendleft(reversed(kept))

    def _send(self, client: httpx2.Client, batch: list[ReadableSpan]) -> bool:
        """Send one batch; False where it may be sent again."""
        began = time.monotonic()
        try:
            with client.stream("POST", self._conf.url, content=request_of(batch)) as answer:
                status, told = answer.status_code, _read(answer)
        except (httpx2.HTTPError, httpx2.InvalidURL, ForbiddenAddress) as error:
            logger.warning(
                "%d spans wait: the collector was not reached in %.1f s: %s",
                len(batch),
                time.monotonic() - began,
                error,
            )
            return False
        if status in AGAIN:
            logger.warning("%d spans wait: the collector answered %d", len(batch), status)
            return False
        refused = rejected_in(told) if httpx2.codes.is_success(status) else len(batch)
        refused = min(refused, len(batch))
        SPANS.of(SENT).inc(len(batch) - refused)
        if refused:
            SPANS.of(REFUSED).inc(refused)
            logger.warning("the collector kept %d spans less: it answered %d", refused, status)
        return True


def _read(answer: httpx2.Response) -> bytes:
    """What a collector says, as far as it is worth reading."""
    told = b""
    for part in answer.iter_bytes(MOST_ANSWER_BYTES):
        told += part
        if len(told) >= MOST_ANSWER_BYTES:
            break
    return told[:MOST_ANSWER_BYTES]
