"""The run that undoes what another did: a child of the root, carried as any run is, and one a round (SG-05, SG-06)."""

from __future__ import annotations

from typing import Any

from liyagent.core.ids import new_id
from runs.checkpoint import keyring, seal_begun, started_as
from runs.conversation import start_part
from runs.minds import MIND
from runs.models import MINDED_FORMAT, Run

LOOP, NAME = "undo:", "undo"

Child = tuple[dict[str, Any], bytes, bytes]


def is_undo_run(run: Run) -> bool:
    """Whether a run undoes what its root did."""
    return run.loop.startswith(LOOP)


def undo_child(root: Run, *, round_number: int) -> Child:
    """Return the run of a round, not stored: its row's facts, its head sealed and its first part sealed.

    As `liyagent_start_undo` takes them. It goes by the root's agent, way in, starter and mission.
    """
    child = Run(
        # Above its parent's, so that whoever locks heads in the order of their ids locks parents first.
        id=new_id(above=root.id),
        correlation_id=root.correlation_id,
        parent_id=root.id,
        loop=f"{LOOP}{round_number}",
        agent_key=root.agent_key,
        agent_version=root.agent_version,
        entry=root.entry,
        mission=root.mission,
        started_by=root.started_by,
        recording=root.recording,
        format=MINDED_FORMAT,
        key_id=keyring().newest,
    )
    task = f"Undo what run {root.id} did, the newest first."
    part = {**start_part(task=task, history=[], run=started_as(child)), MIND: NAME}
    start, seal = seal_begun(child, part)
    facts = {
        "id": str(child.id),
        "agent": child.agent_key,
        "version": child.agent_version,
        "format": child.format,
        "key_id": child.key_id,
    }
    return facts, seal, start
