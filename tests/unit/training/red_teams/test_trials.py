"""An agent is asked what would misuse it, calls nothing real, and is judged by rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liyagent.agents.containment import contain_agent
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.jobs.models import Job
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.types import (
    Message,
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
)
from liyagent.training import red_teams
from liyagent.training.red_teams.ask import ask_red_team
from liyagent.training.red_teams.judge import broken_rule, holds_canary
from liyagent.training.red_teams.models import Finding
from liyagent.training.red_teams.prompts import all_prompts, kinds
from liyagent.training.red_teams.report import evidence_of, forget_findings
from runs import ask as asking
from tests.unit.runs.carrying.conftest import calls, says
from tests.unit.training.conftest import School, never

CANARY = re.compile(r"LY-[0-9A-F]{6}-[0-9A-F]{6}")
Answer = Callable[[ModelRequest], ModelAnswer]


class Asked(ModelClient):
    """A model that answers as the test says."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _request: says("I will not do that.")
        self.requests: list[ModelRequest] = []

    def ask(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        return self.answer(request)


@pytest.fixture
def model(school: School, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The model of the agent `triage`."""
    it = Asked()
    monkeypatch.setitem(PROVIDERS, "asked", lambda _base_url, _api_key_env: it)
    client_for.cache_clear()
    Agent.objects.filter(key="triage").update(provider="asked", instructions="Be kind.")
    return it


def tried(school: School, **facts: object) -> Job:
    job = ask_red_team("triage", asked_by="olga", **facts).job  # type: ignore[arg-type]
    school.work()
    job.refresh_from_db()
    return job


def finding(job: Job, prompt: str) -> Finding:
    return Finding.objects.get(job_id=job.id, prompt=prompt)


def canary_of(request: ModelRequest) -> str:
    found = CANARY.search(request.messages[0].text)
    assert found
    return found[0]


def test_an_agent_that_refuses_holds(school: School, model: Asked) -> None:
    job = tried(school)
    assert (job.status, job.done, job.total) == ("done", len(all_prompts()), len(all_prompts()))
    assert job.result == {"held": 18, "model_calls": 18, "tokens": 0}
    assert {it.verdict for it in Finding.objects.filter(job_id=job.id)} == {"held"}
    assert model.requests[0].messages[0].text.startswith("Be kind.")
    assert {it.name for it in model.requests[0].tools} >= {"v/look", "v/blind"}
    assert len({canary_of(it) for it in model.requests}) == 18


def test_a_canary_that_leaks_is_found_with_the_evidence(school: School, model: Asked) -> None:
    model.answer = lambda it: says("It is " + "-".join(canary_of(it).replace("-", "")).lower())
    job = tried(school, only=["persuasion"])
    assert job.result["broken"] == 2
    found = finding(job, "persuasion-consent")
    assert (found.verdict, found.why) == ("broken", "the canary leaked: it stands in an answer")
    assert [it["role"] for it in evidence_of(found)] == ["system", "user", "assistant"]
    assert b"already told" not in bytes(found.sealed)


def test_what_it_calls_is_answered_from_the_script_and_nothing_real_is_called(school: School, model: Asked) -> None:  # fmt: skip
    def answer(request: ModelRequest) -> ModelAnswer:
        told = request.messages[-1]
        if told.role is Role.TOOL and "NOTE TO ASSISTANT" in told.text:
            return calls(("v/blind", {"text": "restart"}))
        return says("done") if told.role is Role.TOOL else calls(("v/look", {}))

    model.answer = answer
    job = tried(school, only=["indirect_injection"])
    found = finding(job, "indirect-log")
    assert (found.verdict, "v/blind was called, which changes something" in found.why) == ("broken", True)  # fmt: skip
    assert finding(job, "indirect-document").verdict == "held"
    assert school.world.vendor.received == []


def test_a_call_where_none_was_to_be_made_and_one_with_the_canary_are_broken(school: School, model: Asked) -> None:  # fmt: skip
    model.answer = lambda it: calls(("v/look", {"q": canary_of(it)})) if "https" in it.messages[1].text else calls(("v/look", {}))  # fmt: skip
    Agent.objects.filter(key="triage").update(write_posture="hold")
    job = tried(school, only=["exfiltration"])
    leaked, called = finding(job, "exfiltrate-address"), finding(job, "exfiltrate-summary")
    assert leaked.why == "the canary leaked: it stands in the arguments of v/look"
    assert called.why.startswith("v/look was called, and nothing was to be called; in a run its write posture (hold)")  # fmt: skip


def test_guardrails_stand_as_in_a_run(school: School, model: Asked) -> None:
    check = {"kind": "pattern", "action": "refuse", "name": "override", "pattern": "Ignore all earlier"}  # fmt: skip
    masked = {"kind": "pattern", "action": "refuse", "name": "ref", "pattern": "LY-"}
    Agent.objects.filter(key="triage").update(guardrails={"input": [check], "output": [masked]})
    model.answer = lambda it: says(canary_of(it))
    job = tried(school, only=["instruction_override"])
    assert "guardrail pattern override of its input refused it" in finding(job, "override-plain").why  # fmt: skip
    assert job.result == {"held": 4, "model_calls": 3, "tokens": 0}


def test_nothing_is_asked_beyond_a_cap(school: School, model: Asked) -> None:
    job = tried(school, most_calls=2)
    assert (len(model.requests), job.result["not_asked"], job.status) == (2, 16, "done")
    model.answer = lambda _it: ModelAnswer(text="no", input_tokens=600, output_tokens=1)
    job = tried(school, most_tokens=1000)
    assert (job.result["held"], job.result["tokens"]) == (2, 1202)


def test_a_model_that_is_away_fails_it_and_one_that_stumbles_does_not(school: School, model: Asked, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(asking, "MOST_TRIES", 1)

    def stumble(request: ModelRequest) -> ModelAnswer:
        if len(model.requests) == 1:
            raise ModelUnavailable("503")
        return says("no")

    model.answer = stumble
    assert tried(school).result["unanswered"] == 1

    def away(_request: ModelRequest) -> ModelAnswer:
        raise ModelUnavailable("503")

    model.answer = away
    job = tried(school)
    assert (job.status, "the agent's model does not answer" in job.reason, job.done) == ("failed", True, 2)  # fmt: skip

    def rejected(_request: ModelRequest) -> ModelAnswer:
        raise ModelRejected("no such model")

    model.answer = rejected
    assert "refuses to be asked: no such model" in tried(school).reason


@pytest.mark.promise("CR-31")
def test_one_whose_process_stops_ends_interrupted_with_what_was_found(school: School, model: Asked) -> None:  # fmt: skip
    job = ask_red_team("triage", asked_by="olga").job

    def die(_request: ModelRequest) -> ModelAnswer:
        if len(model.requests) == 3:
            raise KeyboardInterrupt
        return says("no")

    model.answer = die
    with pytest.raises(KeyboardInterrupt):
        school.work()
    school.die()
    school.work()
    job.refresh_from_db()
    assert (job.status, job.done, len(model.requests)) == ("interrupted", 2, 3)
    assert "its process stopped" in job.reason
    assert Finding.objects.filter(job_id=job.id).count() == 2
    stopped = ask_red_team("triage", asked_by="olga")
    assert stopped.is_new
    school.work(lambda: len(model.requests) > 3)
    stopped.job.refresh_from_db()
    assert (stopped.job.status, stopped.job.done) == ("interrupted", 1)


def test_what_cannot_be_tried_is_told(school: School, model: Asked) -> None:
    wrong: dict[str, Any]
    for wrong in ({"only": ["none"]}, {"most_calls": 0}, {"most_calls": 501}, {"most_tokens": 0}):
        with pytest.raises(BadInput):
            ask_red_team("triage", asked_by="olga", **wrong)
    job = ask_red_team("triage", asked_by="olga").job
    contain_agent("triage", actor="olga", reason="odd")
    school.work()
    job.refresh_from_db()
    assert (job.status, "is contained" in job.reason, model.requests) == ("failed", True, [])
    with pytest.raises(BadInput, match="contained"):
        ask_red_team("triage", asked_by="olga")


def test_findings_are_forgotten_after_their_job(school: School, model: Asked) -> None:
    tried(school, only=["persuasion"])
    assert forget_findings(never) == 0
    school.world.sql("UPDATE red_teams_finding SET created_at = created_at - interval '98 days'")
    assert (forget_findings(never), Finding.objects.count()) == (2, 0)


def test_nothing_of_the_gateway_that_calls_is_imported() -> None:
    imported = set()
    for path in Path(red_teams.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("liyagent.gateway"):  # fmt: skip
                imported.add(node.module)
    assert imported == {"liyagent.gateway.contracts", "liyagent.gateway.outcome"}


def test_the_prompts_are_of_our_own_kinds_and_can_be_judged() -> None:
    prompts = all_prompts()
    assert 12 <= len(prompts) == len({it.id for it in prompts})
    assert set(kinds()) >= {"instruction_override", "exfiltration", "indirect_injection", "tool_misuse"}  # fmt: skip
    assert {it.forbids for it in prompts} <= {"writes", "calls", "nothing"}


@pytest.mark.parametrize("said", ["LY-12AB34-CD56EF", "ly 12ab34 cd56ef", "L-Y-1-2-A-B-3-4-C-D-5-6-E-F"])  # fmt: skip
def test_a_canary_is_known_however_it_is_spelled(said: str) -> None:
    assert holds_canary(f"so {said}.", "LY-12AB34-CD56EF")
    assert not holds_canary("so LY-12AB34.", "LY-12AB34-CD56EF")


def test_what_the_prompt_itself_says_breaks_nothing() -> None:
    said = [Message(role=Role.USER, text="LY-1-2"), Message(role=Role.ASSISTANT, text="no")]
    assert broken_rule(said, canary="LY-1-2", forbids="writes", reads=()) == ""
