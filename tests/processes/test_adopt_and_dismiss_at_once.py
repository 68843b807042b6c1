"""A routine is approved on one process and dismissed on the other at the same instant: one wins, and nothing is half done (FL-94)."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.place import Place
from tests.processes.racing import Decision, race
from tests.trials.scripts import AGENTS

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(240 + 2 * ROUNDS)]

AGENT = AGENTS["mixed"]
FILE = """
from django.contrib.auth.models import Permission, User
from liyagent.access.keys import create_key
from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from routines.adopt import adopt_routine
from routines.models import NOW, Routine
from routines.tools_seen import tools_seen
user, _ = User.objects.get_or_create(username="zoe")
user.user_permissions.add(Permission.objects.get(codename="operate", content_type__app_label="agents"))
token = create_key(name="races", username="zoe", days=1).token
tools = ["servicenow/create_incident"]
asks = {"id": "ask", "type": "agent", "agent": AGENT, "task": "{{ input.task }}", "next": "end"}
for number in range(COUNT):
    step = {"id": "s1", "type": "tool", "server": "servicenow", "tool": "create_incident", "on_error": "ask", "next": "end",
            "args": {"short_description": f"routine {number}"}}
    definition = {"input": {"type": "object"}, "steps": [step, asks]}
    routine = Routine.objects.create(
        id=new_id(), agent_key=AGENT, pattern=digest(["of the race", str(new_id()), number]), tools=tools, definition=definition,
        digest=digest(definition), runs=[], support=3, tools_seen=tools_seen(tools), mined_at=NOW, created_at=NOW, changed_at=NOW)
    adopt_routine(routine_id=routine.id, actor="anna")
print(token)
"""
ASKED = "SELECT id, run_id AS run, digest FROM approvals_approval WHERE kind = 'routine' AND status = 'pending' ORDER BY id"
STANDS = """
SELECT r.id, r.state, a.status, a.decided_by, r.digest = coalesce(w.digest, '') AS is_saved,
        (SELECT count(*)::int FROM audit_auditrow l WHERE l.detail->>'routine' = r.id::text AND l.action = 'agent.routine.adopted') AS adopted,
        (SELECT count(*)::int FROM audit_auditrow l WHERE l.detail->>'routine' = r.id::text AND l.action = 'agent.routine.dismissed') AS dismissed
    FROM routines_routine r JOIN approvals_approval a ON a.run_id = r.id LEFT JOIN workflows_workflow w ON w.key = a.tool
    WHERE r.id = ANY(%s::uuid[])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal(Decision):
    """What one person says about the routine that a request is about: never again."""

    def bytes_for(self, host: str, token: str) -> bytes:
        """The request as it goes over the wire: its body ends it."""
        body = json.dumps({"reason": self.reason})
        return (
            f"POST /api/routines/{self.request.run}/dismiss HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        ).encode()


def filed(place: Place, count: int) -> tuple[str, list[Request]]:
    """Store routines whose adoption is asked for; the key of one who may dismiss them."""
    script = FILE.replace("AGENT", repr(AGENT)).replace("COUNT", str(count))
    token = place.stage.manage("shell", "-c", script).strip()
    return token, [Request(**it) for it in place.watch.rows(ASKED, [])]


def rounds_of(requests: list[Request]) -> Iterator[tuple[Decision, Decision]]:
    """Each is approved on one process and dismissed on the other."""
    for request in requests:
        at, other = random.sample("AB", 2)
        approves = Decision(request=request, at=at, by="xena")
        yield (
            approves,
            Dismissal(request=request, at=other, by="zoe", reason="the desk does it"),
        )


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
def test_of_an_approval_and_a_dismissal_on_two_processes_one_wins(asking: Asking) -> None:
    place = asking.place
    token, requests = filed(place, 2 * ROUNDS)
    both = replace(asking, tokens={**asking.tokens, "zoe": token})
    met = race(both, list(rounds_of(requests)))
    stands = {str(it["id"]): it for it in place.watch.rows(STANDS, [[str(it.run) for it in requests]])}  # fmt: skip
    won: Counter[str] = Counter()
    for it in met:
        row, lost = stands[str(it.winner.decision.request.run)], it.loser.data
        is_adopted = not isinstance(it.winner.decision, Dismissal)
        won["approved" if is_adopted else "dismissed"] += 1
        if is_adopted:
            assert (row["state"], row["status"], row["decided_by"]) == ("adopted", "consumed", "xena")  # fmt: skip
            assert lost["code"] == "routine.adopted"
        else:
            assert (row["state"], row["status"], row["decided_by"]) == ("dismissed", "withdrawn", "zoe")  # fmt: skip
            assert lost["code"] == "approval.already_decided"
        assert row["is_saved"] is is_adopted
        assert (row["adopted"], row["dismissed"]) == (int(is_adopted), int(not is_adopted))
    gaps = [it.gap_ms for it in met]
    print(f"{dict(won)} of {len(met)} rounds, sent {statistics.median(gaps):.3f} ms apart")  # noqa: T201 - the figures of this test
    assert len(stands) == 2 * ROUNDS
