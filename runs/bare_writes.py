"""Writes of a failed run that took effect and have no undo: they stand, and a run that begins again makes them anew."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef

from liyagent.agents.sub_agents import SERVER as AGENTS
from liyagent.gateway.outcome import Fate
from runs.models import Call, Run
from runs.outside_ticket import LOOP as TICKET_LOOP
from runs.rest import SERVER as WORKFLOW
from runs.undo_run import is_undo_run
from sagas.models import Saga, SagaStatus, Undo

# Of a family of more runs those below the newest stand for all: a page looks through no more of them.
MOST_RUNS = 500
MOST_BARE = 50
# What they mark is no write at a vendor: work handed to a run of its own, and a question to a person.
NO_VENDORS = (AGENTS, WORKFLOW)
SHOWN = ("id", "run_id", "step", "index", "server", "tool", "settled_at")


def bare_of(saga: Saga) -> dict[str, Any]:
    """Return what stands of an ended run because no undo is declared for it: `bare`, `is_more_bare` and `bare_told`."""
    bare = (
        []
        if saga.status == SagaStatus.OPEN or not saga.cause
        else bare_writes(saga, most=MOST_BARE + 1)
    )
    is_more = len(bare) > MOST_BARE
    told = bare_told(len(bare[:MOST_BARE]), is_more=is_more)
    return {"bare": bare[:MOST_BARE], "is_more_bare": is_more, "bare_told": told}


def bare_writes(saga: Saga, *, most: int) -> list[Call]:
    """Return the writes of a family that were done and for which no undo is known, the newest first, at most so many.

    Undos themselves, also those that were held and made when approved, and the filing of a ticket are none.
    """
    family = list(
        Run.objects.filter(correlation_id=saga.id).only("id", "loop", "parent_id").order_by("-id")[:MOST_RUNS]
    )  # fmt: skip
    undoing = {it.id for it in family if is_undo_run(it) or it.loop == TICKET_LOOP}
    own = [it.id for it in family if it.id not in undoing and it.parent_id not in undoing]
    has_undo = Undo.objects.filter(
        run_id=OuterRef("run_id"), step=OuterRef("step"), index=OuterRef("index")
    )
    done = Call.objects.filter(run_id__in=own, fate=Fate.DONE.value).exclude(server__in=NO_VENDORS)
    return list(done.filter(~Exists(has_undo)).only(*SHOWN).order_by("-id")[:most])


def bare_told(number: int, *, is_more: bool) -> str:
    """Say in a sentence that they stand, "" where there is none."""
    if not number:
        return ""
    if number == 1 and not is_more:
        return "1 write without an undo stands as it is."
    more = " or more" if is_more else ""
    return f"{number}{more} writes without an undo stand as they are."
