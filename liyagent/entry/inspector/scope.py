"""The scope of a call by hand: no run remembers it, so the audit log does, before it leaves and after."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from liyagent.agents.models import ConfigVersion
from liyagent.audit.record import record
from liyagent.core.clock import boottime
from liyagent.gateway.active import active_policy
from liyagent.gateway.judge import judge
from liyagent.gateway.outcome import (
    Call,
    Fate,
    MaySend,
    Outcome,
    Payload,
    Posture,
    Scope,
    Verdict,
)
from runs.keys import fresh_key, intent_digest

logger = logging.getLogger(__name__)

ACTION = "tool.adhoc_call"
UNKNOWN = (
    "It was sent, and nothing tells whether it took effect. It is not sent again: look for it at the vendor, "
    "by the key where the vendor keeps it, before you call again."
)


@dataclass(slots=True, kw_only=True)
class AdHocScope(Scope):
    """A call of one person. `verdict` is what the gates said last; a write is in the audit log before it leaves."""

    actor: str
    mission: str
    request_id: str
    version: int
    verdict: Verdict | None = None
    key: str = field(default_factory=fresh_key)

    def step_key(self, call: Call) -> str:
        """Return the call's fresh key: nothing identifies it, so it is never sent again (CR-30)."""
        return self.key

    def mark_sending(self, verdict: Verdict, payload: Payload) -> MaySend | Outcome:
        """Commit the intent; judge again where the configuration changed since; then a lease's time to send."""
        deadline = boottime() + settings.LIYAGENT.lease_seconds
        self._record(verdict, phase="sending")
        now = ConfigVersion.objects.values_list("version", flat=True).get()
        if now != self.version:
            self.version = now
            again = judge(verdict.call, active_policy(version=now))
            if again.posture is not Posture.POSTURE:
                self.verdict = again
                return Outcome(fate=Fate.REFUSED, error=again.reason)
        # A call can take long, and holds no connection meanwhile.
        connection.close()
        return lambda: boottime() < deadline

    def hold(self, verdict: Verdict) -> Outcome:
        """Refuse a held call: a person who calls by hand does not wait for another."""
        return Outcome(fate=Fate.HELD, error=verdict.reason)

    def find_out(self, verdict: Verdict, payload: Payload) -> Outcome:
        """Tell a write of unknown outcome as unknown."""
        return Outcome(fate=Fate.UNKNOWN, error=UNKNOWN, key=payload.key)

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Keep what came of it. A write whose end cannot be stored is told all the same; its intent is stored."""
        self.verdict = self.verdict or verdict
        try:
            self._record(
                self.verdict, phase="settled", fate=outcome.fate.value, ms=outcome.duration_ms
            )
        except (DatabaseError, InterfaceError):
            if payload is None or not payload.is_write:
                raise
            logger.exception("what came of call %s is not stored: %s", self.key, outcome.fate)

    def _record(self, verdict: Verdict, **facts: Any) -> None:
        call = verdict.call
        detail = {
            "call": call.name,
            "effect": "write" if call.writes else "read",
            "agent": call.asker.agent,
            "key": self.key,
            "intent": intent_digest(server=call.server, tool=call.tool, args=call.args),
            "gate": verdict.gate,
            **facts,
        }
        with transaction.atomic(durable=True):
            record(
                ACTION,
                actor=self.actor,
                mission=self.mission,
                request_id=self.request_id,
                detail=detail,
            )
