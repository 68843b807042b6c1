"""Transcripts that were kept in full become a file and one job at the endpoint, whatever happens in between."""

from __future__ import annotations

import pytest

from liyagent.agents.models import Agent
from liyagent.training.fine_tunes.models import Example
from tests.fakes.fine_tuning_endpoint import FineTuningEndpoint
from tests.unit.runs.carrying.conftest import calls, says
from tests.unit.training.conftest import School
from tests.unit.training.fine_tunes.conftest import KEY, asked


@pytest.mark.promise("CR-06")
def test_what_an_agent_said_becomes_a_model(school: School, endpoint: FineTuningEndpoint) -> None:
    school.unrecorded()
    school.recorded(11)
    school.ran(calls(("v/look", {"text": "disk"})), says("added"), task="add it")
    job = school.work_through(asked())
    assert (job.status, job.reason) == ("done", "")
    (made,) = endpoint.jobs.values()
    assert job.result["fine_tuned_model"] == made["fine_tuned_model"]
    assert (job.result["transcripts"], job.result["skipped"]) == (12, {"not recorded in full": 1})
    assert (made["model"], made["training_file"]) == ("gpt-mini", "file-1")
    assert made["metadata"] == {"liyagent_job": str(job.id)}
    (file,) = endpoint.files.values()
    assert (file["purpose"], file["filename"]) == ("fine-tune", f"liyagent-{job.id}.jsonl")
    lines = endpoint.lines()
    assert len(lines) == 12
    assert lines[0]["messages"][-2:] == [
        {"role": "user", "content": "question 0"},
        {"role": "assistant", "content": "answer 0"},
    ]
    called = lines[-1]
    roles = [it["role"] for it in called["messages"] if it["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "assistant"]
    (call,) = called["messages"][-3]["tool_calls"]
    assert call["function"] == {"name": "v__look", "arguments": '{"text":"disk"}'}
    assert called["messages"][-2]["tool_call_id"] == call["id"]
    assert [it["function"]["name"] for it in called["tools"]] == ["v__look"]
    assert {headers["authorization"] for _, _, headers in endpoint.requests} == {f"Bearer {KEY}"}
    school.after_end()
    assert not Example.objects.exists()
    assert (list(endpoint.files), endpoint.cancelled) == (["file-1"], [])


def test_too_few_transcripts_are_told_with_the_reasons(school: School, endpoint: FineTuningEndpoint) -> None:  # fmt: skip
    school.unrecorded()
    school.recorded(2)
    job = school.work_through(asked())
    assert job.status == "failed"
    assert "2 transcripts can be used, and it takes 10 at least. Skipped: 1 not recorded in full" in job.reason  # fmt: skip
    assert not endpoint.contents
    assert Agent.objects.get(key="triage").recording == "full"
