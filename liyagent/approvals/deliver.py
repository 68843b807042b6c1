"""Tell the channel of approvals what is due: claimed, sent, marked; at least once, with the same id each time.

A claim is one conditional update with a lease: two processes never send one notice at a time, and what a dead one
claimed is due again as soon as it is known to be gone. Of one request the earlier is told first, unless it holds the later up for an hour.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx2
from django.conf import settings

from liyagent.approvals.models import Notice
from liyagent.approvals.notice import body_of
from liyagent.core.errors import LiyagentError
from liyagent.core.metrics import NOTICES
from liyagent.core.outbound import guarded_client
from liyagent.core.outbox import ANSWER_SECONDS, SENT_WITHIN_SECONDS, Outbox, wanted_pause
from liyagent.core.transactions import forbid_transaction
from liyagent.core.webhook_signing import signed_headers
from liyagent.leases.own import CLAIMER_IS_GONE, OWN
from missions.carry import MISSION_HEADER

logger = logging.getLogger(__name__)

MOST_A_LOOK = 100
TOO_MANY, GONE, OF_THE_SERVER = 429, 410, 500
AGENT = "Liyagent-Approvals"
OUTBOX = Outbox(
    table="approvals_notice",
    of="approval_id",
    claims=", claimed_by = %s",
    also_free=CLAIMER_IS_GONE,
)


class TooSlow(LiyagentError):
    """The receiver took too long."""

    code = "notice.too_slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one attempt: told where `error` is empty. `is_down`: the next would meet the same."""

    error: str = ""
    is_down: bool = False
    wanted_pause: float = 0.0


def deliver_due(*, give_up: Callable[[], bool], limit: int = MOST_A_LOOK) -> int:
    """Send what is due, at most `limit`, and return how many notices were tried; nothing where no address is set.

    A receiver that is down is left alone until the next look. Nothing is sent inside a transaction. Raises the
    database's errors: what was claimed is due again once its lease is over.
    """
    if not settings.LIYAGENT.approval_webhook_url:
        return 0
    forbid_transaction("telling of approvals")
    tried = 0
    with Channel() as channel:
        while tried < limit and not give_up():
            channel.begin()
            notice = _claimed()
            if notice is None:
                break
            tried += 1
            answer = channel.send(notice)
            _mark(notice, answer)
            if answer.is_down:
                break
    return tried


class Channel:
    """The receiver, asked by the guarded client; its connections are made with the first notice."""

    def __init__(self) -> None:
        """Nothing is opened before something is sent."""
        self._client: httpx2.Client | None = None
        self._until = 0.0

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def begin(self) -> None:
        """Take the time of a claim: what has not left when half of its lease is over does not leave."""
        self._until = time.monotonic() + SENT_WITHIN_SECONDS

    def send(self, notice: Notice) -> Answer:
        """Send it once, with its mission as a header. Any answer but 2xx within ten seconds is a failure; redirects are not followed."""
        conf, body = settings.LIYAGENT, body_of(notice)
        headers = signed_headers(
            webhook_id=str(notice.webhook_id),
            timestamp=int(time.time()),
            body=body,
            secrets=conf.approval_webhook_secrets,
        )
        headers |= {"content-type": "application/json", "user-agent": AGENT}
        headers[MISSION_HEADER] = notice.approval.mission
        try:
            with self._opened().stream(
                "POST", conf.approval_webhook_url, content=body, headers=headers
            ) as response:
                return _answer(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, LiyagentError, OSError) as error:
            return Answer(error=f"{type(error).__name__}: {error}", is_down=True)

    def _opened(self) -> httpx2.Client:
        if self._client is None:
            self._client = guarded_client(
                before_send=self._before_send,
                while_reading=self._check_time,
                timeout_seconds=ANSWER_SECONDS,
            )
        return self._client

    def _before_send(self, _request: httpx2.Request) -> None:
        self._check_time()
        self._until = time.monotonic() + ANSWER_SECONDS

    def _check_time(self) -> None:
        if time.monotonic() >= self._until:
            raise TooSlow


def _answer(response: httpx2.Response) -> Answer:
    """What a status means. The body is not read: it could be endless, and has nothing to say."""
    status = response.status_code
    if response.is_success:
        return Answer()
    told = f"HTTP {status}"
    if status == GONE:
        told += ": the receiver says that it is gone for good; take its address out if that is so"
        logger.error("notices of approvals are refused: %s", told)
    return Answer(
        error=told,
        is_down=status == TOO_MANY or status >= OF_THE_SERVER,
        wanted_pause=wanted_pause(response.headers.get("retry-after", "")),
    )


def _claimed() -> Notice | None:
    found = OUTBOX.claim(OWN.holder)
    if found is None:
        return None
    notices = Notice.objects.select_related("approval")
    return notices.defer("approval__sealed", "approval__ceiling", "approval__held_reason").get(
        id=found
    )


def _mark(notice: Notice, answer: Answer) -> None:
    """Keep what became of it; one that was claimed by another meanwhile is the other's to mark."""
    if not answer.error:
        OUTBOX.settle(notice.id, attempts=notice.attempts)
        NOTICES.of("delivered").inc()
        return
    is_dead = OUTBOX.fail(
        notice.id,
        attempts=notice.attempts,
        failures=notice.failures,
        why=answer.error,
        pause=answer.wanted_pause,
    )
    NOTICES.of("dead" if is_dead else "failed").inc()
    logger.warning(
        "notice %s of request %s is not delivered%s: %s",
        notice.id, notice.approval_id, ", and given up" if is_dead else "", answer.error,
    )  # fmt: skip
