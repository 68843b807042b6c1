"""What whoever began a trial is shown as its answer at the end, asked of the survivor as that way asks (CR-02, CR-05, CR-08)."""

from __future__ import annotations

from tests.kills.begin import RUN, Begun, a2a_client, call_mcp
from tests.kills.plan import Way
from tests.kills.stage import SURVIVOR, KillStage
from tests.trials.stage import StageFailed


def answers_shown(at: KillStage, begun: Begun, run_id: str) -> frozenset[str]:
    """Return each answer that is shown of a trial: of its run, and where its way has a place of its own, there too.

    A saga, whose run failed, has none.
    A place that shows none is told in words that are no answer.
    """
    if begun.trial.way is Way.SAGA:
        return frozenset()
    try:
        told = {str(at.ask(SURVIVOR, "GET", f"/api/runs/{run_id}").get("answer"))}
    except StageFailed as error:
        return frozenset({str(error)})
    if begun.trial.way is Way.COPILOT:
        turns = at.ask(SURVIVOR, "GET", f"/api/copilot/conversations/{begun.conversation}")
        told |= {f"{it['answer']}" for it in turns["turns_told"]} or {"no turn"}
    if begun.trial.way is Way.A2A:
        client = a2a_client(at, SURVIVOR)
        task = client.get(run_id)
        parts = [part["text"] for it in task.get("artifacts", []) for part in it["parts"]]
        told |= set(parts) or {"no artifact"}
        state = client.state(task)
        told |= set() if state == "completed" else {f"the task is {state}"}
    if begun.trial.way is Way.MCP:
        try:
            again = call_mcp(at, begun, SURVIVOR, wait_seconds=0)
        except StageFailed as error:
            return frozenset({str(error)})
        told |= {it["text"] for it in again["content"]} or {"no content"}
        told |= set() if again["_meta"][RUN] == run_id else {f"it is of run {again['_meta'][RUN]}"}
    return frozenset(told)
