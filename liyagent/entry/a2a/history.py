"""What was said before in a context: the turns that a new task of it is given."""

from __future__ import annotations

from liyagent.core.errors import LiyagentError
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.models import State, Task
from liyagent.entry.a2a.tell import parts_of
from liyagent.entry.a2a.wire import Message
from runs.head import answer_of
from runs.models import Run

# The latest that fit both.
MOST_TASKS = 20
MOST_CHARACTERS = 100_000


def turns_before(asked: Asked, context_id: str) -> list[dict[str, str]]:
    """Return the caller's completed tasks in this context as turns, oldest first; the oldest are left out beyond a bound.

    A context is one caller's with one agent: what another calls by the same name is another. What can no longer be
    opened is left out.
    """
    rows = Task.objects.filter(
        owner=asked.caller.username,
        agent_key=asked.agent_key,
        context_id=context_id,
        state=State.COMPLETED,
    )
    turns: list[dict[str, str]] = []
    left = MOST_CHARACTERS
    for task in rows.order_by("-changed_at", "-run_id")[:MOST_TASKS]:
        said = _said(task)
        left -= sum(len(turn["text"]) for turn in said)
        if left < 0:
            break
        turns = [*said, *turns]
    return turns


def _said(task: Task) -> list[dict[str, str]]:
    run = Run.objects.defer("seal").filter(id=task.run_id).first()
    answer = answer_of(run)["answer"] if run is not None else None
    if answer is None:
        return []
    try:
        asked = Message(message_id="", context_id="", task_id="", parts=parts_of(task)).text
    except LiyagentError:
        return []
    return [{"role": "user", "text": asked}, {"role": "assistant", "text": str(answer)}]
