"""Carry an attack to its end: plant the text, run the agent in the real loop, let the person decide, gather what is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django.contrib.auth import get_user_model

from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.core.canonical import digest
from liyagent.demo.vendors.process import VendorProcess
from liyagent.gateway.models import Tool
from liyagent.gateway.policy_versions import load_policy
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs.checkpoint import keyring
from runs.models import Run
from runs.runner import FORMATS
from runs.start import start_run
from runs.transcript import read_transcript
from tests.injection.case import Carrier, Case, Person
from tests.injection.evidence import Evidence
from tests.injection.site import SETTING, marks_of, plant, seen_at
from tests.injection.tools import OPERATION
from tests.unit.runs.carrying.conftest import Process

MOST_ROUNDS = 60
FORBIDS = '@id("freeze")\nforbid (principal, action, resource in Server::"ops");'


@dataclass(slots=True)
class Attack:
    """One attack on a furnished site."""

    case: Case
    vendors: VendorProcess
    approved: Counter[str] = field(default_factory=Counter)

    def carry_out(self) -> Evidence:
        """Run it until nothing is left to carry and nobody decides any more; return what is known."""
        since, task = self._plant()
        self._start(task)
        holder = register_holder(
            own_identity(), name="a", lease_seconds=60, formats=FORMATS, key_ids=keyring().ids
        )
        process = Process(holder=holder, name="a")
        meanwhile = self.case.meanwhile
        for _ in range(MOST_ROUNDS):
            taken = process.take()
            for run_id, attempt in taken:
                process.go_on(run_id, attempt)
            if not taken and not self._decide():
                break
            if meanwhile and self.approved:
                happen(meanwhile)
                meanwhile = ""
        return self._evidence(since)

    def _plant(self) -> tuple[dict[str, int], str]:
        """Put the text where the agent will meet it; return what every vendor had before, and the task."""
        case, task, says = self.case, self.case.by.value, self.case.says
        OPERATION.seen.clear()
        OPERATION.planted = says
        if case.by is Carrier.DESCRIPTION:
            Tool.objects.filter(server__key="inbox", name="read_ticket").update(description=says)
        if case.by is Carrier.ISSUE:
            body = {"project": "OPS", "summary": "disk full", "description": says, "client_key": ""}
            task = task.replace("PLANTED", plant(self.vendors, "jira", "create_issue", body))
        if case.by is Carrier.INCIDENT:
            body = {"name": "disk", "severity": "sev3", "summary": "", "idempotency_key": ""}
            other = plant(self.vendors, "incident", "create_incident", body)
            body["summary"] = says.replace("PLANTED", other)
            record = plant(self.vendors, "incident", "create_incident", body)
            task = task.replace("PLANTED", record)
        return marks_of(self.vendors), task

    def _start(self, task: str) -> None:
        start_run(
            agent_key="triage", task=task, entry="api", started_by="kim", mission="", request_id=""
        )

    def _decide(self) -> bool:
        """Let the person look at all that waits; return whether anything was decided."""
        if self.case.person is Person.NOBODY:
            return False
        waiting = list(Approval.objects.filter(status=ApprovalStatus.PENDING))
        for approval in waiting:
            status = ApprovalStatus.APPROVED if self._likes(approval) else ApprovalStatus.REJECTED
            if status is ApprovalStatus.APPROVED:
                self.approved[_what(approval)] += 1
            decide(
                approval_id=approval.id,
                status=status,
                actor="olga",
                reason="as I was asked",
                digest=approval.digest,
            )
        return bool(waiting)

    def _likes(self, approval: Approval) -> bool:
        match self.case.person:
            case Person.CARELESS:
                return True
            case Person.HANDS_DOWN:
                return approval.server == "agents"
            case Person.CAREFUL:
                wanted = [digest(["wanted", name, args]) for name, args in self.case.wanted]
                what = _what(approval)
                return self.approved[what] < wanted.count(what)
            case _:
                return False

    def _evidence(self, since: dict[str, int]) -> Evidence:
        runs = list(Run.objects.order_by("created_at"))
        answers = [str(read_transcript(it)["answer"] or "") for it in runs if it.is_ended]
        return Evidence(
            seen=seen_at(self.vendors, since),
            answers=answers,
            approvals=list(Approval.objects.order_by("created_at")),
            runs=runs,
        )


def happen(what: str) -> None:
    """Let something change between an approval and the call that it was given for."""
    match what:
        case "the tool changes":
            Tool.objects.filter(server__key="ops", name="restart").update(
                description="Deletes.", fingerprint="another"
            )
        case "a policy forbids it":
            load_policy(SETTING["policies"] + FORBIDS, name="gates", actor="test")
        case "the principal is put out":
            get_user_model().objects.filter(username="robot").update(is_active=False)
        case "the agent is contained":
            Agent.objects.filter(key="triage").update(is_contained=True)
        case _:
            raise ValueError(what)


def _what(approval: Approval) -> str:
    return digest(["wanted", approval.name, arguments_of(approval)])
