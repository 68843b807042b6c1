"""Keep what mining found of a pattern: a new suggestion, or one whose definition moves on; never one that a person dismissed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from liyagent.audit.record import record
from liyagent.core.transactions import require_transaction
from routines.models import NOW, Routine, RoutineState
from routines.offer import Change, Offer

# What mining may bring up to date. Of a request that waits, the definition moves on, so that it cannot be approved any more (FL-94).
MOVES_ON = (RoutineState.SUGGESTED, RoutineState.FILED, RoutineState.SUSPENDED)


def keep_offer(offer: Offer, *, actor: str) -> Change:
    """Keep it within the caller's transaction; return what became of the pattern.

    A person who dismissed it, had it adopted or made a parameter of it since it was compiled wins.
    """
    require_transaction("keeping a suggestion")
    if offer.compiled is None:
        return offer.change
    facts = _facts(offer)
    if offer.known is None:
        return _add(offer, facts, actor=actor)
    moved = {"changed_at": NOW} if offer.change is Change.CHANGED else {}
    rows = Routine.objects.filter(
        id=offer.known.id,
        state__in=MOVES_ON,
        digest=offer.known.digest,
        as_parameters=offer.known.as_parameters,
    ).update(**facts, **moved)
    if not rows:
        return Change.LEFT_ALONE
    if offer.change is Change.CHANGED:
        told = {"digest": offer.compiled.digest, "digest_before": offer.known.digest}
        _audit("changed", offer, offer.known.id, actor=actor, **told)
    return offer.change


def _add(offer: Offer, facts: dict[str, Any], *, actor: str) -> Change:
    assert offer.compiled is not None
    try:
        with transaction.atomic():
            Routine.objects.create(
                id=offer.routine_id,
                agent_key=offer.agent_key,
                pattern=offer.group.pattern,
                created_at=NOW,
                changed_at=NOW,
                **facts,
            )
    except IntegrityError:
        # Another mining of this agent was quicker, which the jobs room lets happen only where one was lost.
        return Change.LEFT_ALONE
    _audit("suggested", offer, offer.routine_id, actor=actor, digest=offer.compiled.digest)
    return Change.NEW


def _facts(offer: Offer) -> dict[str, Any]:
    compiled = offer.compiled
    assert compiled is not None
    return {
        "tools": list(compiled.tools),
        "definition": compiled.definition,
        "digest": compiled.digest,
        "parameters": [it.plain() for it in compiled.parameters],
        "origins": [it.plain() for it in compiled.origins],
        "runs": list(compiled.runs),
        "support": offer.group.count,
        "distinct_inputs": compiled.distinct_inputs,
        "score": offer.score or {},
        "tools_seen": offer.tools_seen or {},
        "withheld": compiled.withheld[:500],
        "mined_at": NOW,
    }


def _audit(what: str, offer: Offer, routine_id: UUID, *, actor: str, **told: str) -> None:
    assert offer.compiled is not None
    detail = {
        "routine": str(routine_id),
        "pattern": offer.group.pattern,
        "support": offer.group.count,
        "withheld": offer.compiled.withheld,
        **told,
    }
    record(f"agent.routine.{what}", actor=actor, agent=offer.agent_key, detail=detail)
