"""The desk beside the survivor: it declares the agents, starts runs and decides about requests, by the verbs.

Lines of JSON come in on a Unix socket, one answer a line goes back.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from liyagent.agents.load import load_agents
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.gateway.policy_versions import load_policy
from liyagent.workflows.save import save_all
from liyagent.workflows.start import start_workflow
from runs.start import start_run
from tests.trials.cuts import desk_ways, sagas
from tests.trials.cuts.desk_ways import ASKER, DECIDER
from tests.trials.cuts.kinds import TASK


def declare(agents: dict[str, Any], policy: str) -> None:
    """Declare the agents and the workflows, let them do everything, and make somebody who may decide."""
    load_agents(agents, actor=ASKER)
    load_policy(policy, name="cuts", actor=ASKER)
    save_all([sagas.workflow(), sagas.branched()], actor=ASKER)
    if not get_user_model().objects.filter(username=DECIDER).exists():
        get_user_model().objects.create_superuser(DECIDER)


def start(agent: str) -> list[str]:
    """Start a run: its id and its correlation id."""
    started = start_run(
        agent_key=agent, task=TASK, entry="api", started_by=ASKER, mission="", request_id=""
    )
    return [str(started.run_id), str(started.correlation_id)]


def start_of_workflow(key: str) -> list[str]:
    """Start a run of a workflow: as `start`."""
    started = start_workflow(
        key=key, given={}, entry="api", started_by=ASKER, mission="", request_id=""
    )
    return [str(started.run_id), str(started.correlation_id)]


def approve(correlation: str) -> int:
    """Approve what is asked under a correlation id; how much that was."""
    pending = Approval.objects.filter(correlation_id=correlation, status=ApprovalStatus.PENDING)
    for approval in pending:
        decide(
            approval_id=approval.id,
            status=ApprovalStatus.APPROVED,
            actor=DECIDER,
            reason="it may be done",
            digest=approval.digest,
        )
    return len(pending)


DOES: dict[str, Callable[..., Any]] = {
    "declare": declare,
    "start": start,
    "start_of_workflow": start_of_workflow,
    "approve": approve,
    **desk_ways.DOES,
}


def main(path: Path) -> None:
    """Answer one client to its end."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        told, _ = listener.accept()
    with told, told.makefile("rw") as words:
        for line in words:
            asked = json.loads(line)
            answer = DOES[asked.pop("do")](**asked)
            connection.close()
            words.write(json.dumps(answer) + "\n")
            words.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
