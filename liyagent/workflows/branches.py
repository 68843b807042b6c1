"""The branches of a parallel step: each a run of its own below this one, so that none shares another's lease or fence."""

from __future__ import annotations

import json
import logging
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from liyagent.core.plain import json_bytes
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.outcome import Call, Fate, Outcome
from liyagent.workflows.course import Ask, Course
from runs import hot
from runs.attempt import Attempt
from runs.checkpoint import (
    Checkpoint,
    keyring,
    seal_begun,
    started_as,
    stored_rows,
)
from runs.conversation import start_part
from runs.delegate import answer_told, come_back, wait_for_children
from runs.ending import HandedBack
from runs.endings import EndError
from runs.family import CHAIN, chain_of
from runs.minds import MIND
from runs.models import MINDED_FORMAT, Run, RunStatus
from runs.rest import answered
from runs.scope import RunScope

logger = logging.getLogger(__name__)

NAME, PINNED, BRANCH, BEFORE = "workflow", "workflow", "branch", "before"
FORK = hot.with_events(
    "SELECT * FROM liyagent_fork(%s, %s, %s, %b, %s, %s, %s::bytea[], %s::bytea[], EVENTS)"
)
# A configuration that changes at each of these is being loaded: not now.
MOST_LOOKS = 10
# Of what all branches of a step are given to read, each a copy, in the one statement that starts them.
MOST_BYTES = 64 << 20
TOO_LARGE = f"its branches would be given {{size}} bytes to read, each all that was done before; {MOST_BYTES} are taken in all"


def look_at_branches(
    attempt: Attempt,
    scope: RunScope,
    call: Call,
    *,
    asked: Ask,
    course: Course,
    pinned: dict[str, Any],
) -> Outcome:
    """Start the branches that are not there, and answer with what each came to once all have ended.

    A branch that failed fails the step, once the others have ended; one of unknown outcome leaves the step unknown. Raises
    `HandedBack` while they are at it.
    """
    checkpoint = scope.checkpoint
    loops = {
        name: branch_loop(
            checkpoint.run_id,
            step=asked.step.id,
            number=asked.number,
            attempt=asked.attempt,
            branch=name,
        )
        for name in sorted(asked.body["branches"])
    }
    children = _children(checkpoint, loops)
    if len(children) < len(loops):
        size = len(json_bytes(_before(course))) * len(loops)
        if size > MOST_BYTES:
            return answered(
                scope, call, Outcome(fate=Fate.FAILED, error=TOO_LARGE.format(size=size))
            )
        raise _fork(
            attempt, {it: loops[it] for it in loops if it not in children}, asked, course, pinned
        )
    if not all(it.is_ended for it in children.values()):
        raise wait_for_children(checkpoint)
    return answered(scope, call, _came(checkpoint, children))


def branch_loop(run_id: UUID, *, step: str, number: int, attempt: int, branch: str) -> str:
    """Return the loop of a branch's run, behind `number` executed steps of the run that it is a branch of.

    Tried again, a step has branches of its own: what failed would be found failed for ever.
    """
    return digest(["workflow-branch", str(run_id), step, number, attempt, branch])


def _children(checkpoint: Checkpoint, loops: dict[str, str]) -> dict[str, Run]:
    values = (checkpoint.run.correlation_id, list(loops.values()))
    where = "correlation_id = %s AND loop = ANY(%s)"
    rows = stored_rows(Run, where, values, give_up=checkpoint.give_up)
    by_loop = {it.loop: it for it in rows}
    return {name: by_loop[loop] for name, loop in loops.items() if loop in by_loop}


def _fork(
    attempt: Attempt, loops: dict[str, str], asked: Ask, course: Course, pinned: dict[str, Any]
) -> HandedBack:
    """Start them and sleep, in one commit, judged by what stands then. Raises `MayNotGoOn`, `HandedBack`, `LostLease`."""
    checkpoint = attempt.checkpoint
    for _ in range(MOST_LOOKS):
        agent = attempt.may_go_on()
        made = [
            _child(
                checkpoint,
                loop=loop,
                name=name,
                asked=asked,
                course=course,
                pinned=pinned,
                version=agent.version,
            )
            for name, loop in loops.items()
        ]
        fence = checkpoint.next_fence()
        values = (
            fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), checkpoint.config,
            Jsonb([facts for facts, _, _ in made]), [seal for _, seal, _ in made], [start for _, _, start in made],
        )  # fmt: skip
        rows = hot.ask(FORK, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
        told, is_handed = hot.told_of(rows, fence), rows[0][2]
        if is_handed:
            return HandedBack()
        checkpoint.stop, checkpoint.config = told.stop, told.config
    return come_back(checkpoint)


def _child(
    checkpoint: Checkpoint,
    *,
    loop: str,
    name: str,
    asked: Ask,
    course: Course,
    pinned: dict[str, Any],
    version: int,
) -> tuple[dict[str, Any], bytes, bytes]:
    """A branch's row, its head and its first part, sealed: it reads what its parent has read so far."""
    parent = checkpoint.run
    child = Run(
        id=new_id(above=parent.id),
        correlation_id=parent.correlation_id,
        parent_id=parent.id,
        loop=loop,
        agent_key=parent.agent_key,
        agent_version=version,
        entry=parent.entry,
        mission=parent.mission,
        started_by=parent.started_by,
        recording=parent.recording,
        workflow=parent.workflow,
        format=MINDED_FORMAT,
        key_id=keyring().newest,
    )
    definition = {
        "steps": asked.body["branches"][name],
        "max_steps": course.definition.most_steps,
        # What is done once the whole run has failed is the root's to say.
        "on_failure": {"undo_as_agent": course.definition.on_failure.undo_as_agent},
    }
    part = {
        **start_part(task=f"Branch {name} of {asked.step.id}.", history=[], run=started_as(child)),
        MIND: NAME,
        CHAIN: [*chain_of(checkpoint), parent.agent_key],
        PINNED: {
            **{it: pinned[it] for it in ("key", "version", "digest", "input")},
            "definition": definition,
            BRANCH: name,
            BEFORE: _before(course),
        },
    }
    start, seal = seal_begun(child, part)
    facts = {
        "id": str(child.id),
        "loop": loop,
        "version": version,
        "format": child.format,
        "key_id": child.key_id,
        "branch": name,
    }
    return facts, seal, start


def _before(course: Course) -> dict[str, Any]:
    """What a branch reads of the run that it is a branch of, as it stands now."""
    scope = course.scope()
    return {"vars": scope["vars"], "steps": scope["steps"]}


def _came(checkpoint: Checkpoint, children: dict[str, Run]) -> Outcome:
    failed = {name: it for name, it in children.items() if it.status != RunStatus.ANSWERED}
    if failed:
        is_unknown = any(it.error == EndError.WORKFLOW_UNKNOWN for it in failed.values())
        told = "; ".join(f"branch {name}: {it.reason or it.status}" for name, it in failed.items())
        return Outcome(fate=Fate.UNKNOWN if is_unknown else Fate.FAILED, error=told)
    try:
        result = {name: json.loads(answer_told(checkpoint, it)) for name, it in children.items()}
    except KeyMissing as error:
        raise come_back(checkpoint) from error
    except (SealBroken, LookupError) as error:
        logger.error("the answer of a branch cannot be told: %s", error)
        return Outcome(fate=Fate.FAILED, error=f"the answer of a branch cannot be told: {error}")
    return Outcome(fate=Fate.DONE, result=result)
