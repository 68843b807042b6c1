"""Keys of calls that no agent's loop makes: written out, since a release that changes them sends a write twice."""

from __future__ import annotations

from uuid import UUID

import pytest

from runs.keys import approved_call_key, step_key, workflow_step_key

SOME_ID = UUID("0190a0a0-0000-7000-8000-000000000001")
OTHER_ID = UUID("0190a0a0-0000-7000-8000-000000000002")


def key_of(**changes: object) -> str:
    facts: dict[str, object] = {"workflow_run_id": SOME_ID, "step_id": "issue", "steps_executed": 3}
    return workflow_step_key(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.mark.promise("CR-28")
def test_a_retry_of_a_workflow_step_has_the_same_key_in_every_process_and_release() -> None:
    assert key_of() == key_of()
    assert key_of() == "a1600e34b146f5bd64f0fb1328e17d8a96921ee8c5dbae48cc68610d08fe3235"


@pytest.mark.promise("CR-28")
def test_a_loop_back_to_a_step_another_step_and_another_run_have_other_keys() -> None:
    keys = {
        key_of(),
        key_of(steps_executed=4),
        key_of(step_id="issue2"),
        key_of(workflow_run_id=OTHER_ID),
    }
    assert len(keys) == 4


@pytest.mark.promise("CR-29")
def test_an_approved_call_has_the_key_of_its_approval_and_of_no_other() -> None:
    assert (
        approved_call_key(SOME_ID)
        == "ac84aa9a0ccae2e9444c653836bb87732d9504cd50b973dd64a899b1f5f351ac"
    )
    assert approved_call_key(OTHER_ID) != approved_call_key(SOME_ID)


def test_keys_of_different_kinds_never_meet() -> None:
    agents = step_key(correlation_id=SOME_ID, loop="issue", steps_taken=3, provider_call_id="")
    assert len({agents, key_of(), approved_call_key(SOME_ID)}) == 3
