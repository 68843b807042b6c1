"""The fold is pure and total: any sequence of any content has a state, of bounded size (EV-04)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.fold import MOST, fold
from events.kinds import KINDS
from tests.unit.events.rows import Event

CHAIN, RUN, OTHER = (UUID(int=0x0190F5FE7C007A008000000000000000 + it) for it in range(3))
AT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def event(kind: str, content: Any, *, number: int = 1, run: UUID = RUN) -> Event:
    return Event(
        correlation_id=CHAIN,
        number=number,
        run_id=run,
        at=AT,
        kind=kind,
        mission="INC-1",
        recording="full",
        content=content if isinstance(content, str) else json.dumps(content),
        hash=b"",
    )


def events(*told: tuple[str, Any]) -> list[Event]:
    return [event(kind, content, number=at) for at, (kind, content) in enumerate(told, 1)]


STARTED = ("run.started", {"agent": "triage", "version": 3, "entry": "api", "started_by": "olga"})
PLACE = {"step": 1, "index": 0, "server": "v", "tool": "t"}
AUTHORITY = {"digest": "d", "policy": "p", "ceiling": "c", "run_as": "olga"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
FIELDS = sorted({name for it in KINDS.values() for name in (*it.fields, *it.may_have)})
CONTENT = st.text() | st.builds(
    json.dumps, JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=12)
)
SOME = st.builds(
    event,
    st.sampled_from(sorted(KINDS)) | st.text(),
    CONTENT,
    number=st.integers(),
    run=st.sampled_from((RUN, OTHER)),
)


@pytest.mark.promise("EV-04")
# A busy machine is no reason to call it slow.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SOME, max_size=30))
def test_whatever_is_stored_has_a_state(some: list[Event]) -> None:
    state = fold(some)
    assert state.events == len(some)
    told = json.dumps(
        [it.told() for it in state.runs.values()], allow_nan=False, ensure_ascii=False
    )
    told.encode()


@pytest.mark.promise("EV-04")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "null",
        "7",
        "[" * 100_000,
        '{"step":' + "9" * 5000 + "}",
        '{"step":1e999}',
        '{"step":NaN}',
        '{"agent":1,"agent":2}',
    ],
)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_content_that_is_none_of_ours_tells_nothing(kind: str, content: str) -> None:
    (run,) = fold([event(kind, content)]).runs.values()
    assert (run.last_step, run.counts["input_tokens"], run.agent) == (0, 0, "")


@pytest.mark.promise("EV-04")
@pytest.mark.parametrize("value", ["7", -1, True, 1.5, 1 << 80, None, [7], {"a": 7}])
def test_what_is_no_counter_counts_nothing(value: object) -> None:
    (run,) = fold(events(("step", {"step": 1, "input_tokens": value}))).runs.values()
    assert run.counts["input_tokens"] == 0


@pytest.mark.promise("EV-04")
def test_half_a_letter_is_told_as_none() -> None:
    (run,) = fold(
        [event("run.started", '{"agent":"a\\ud800","started_by":"\\ud83d\\ude00"}')]
    ).runs.values()
    assert (run.agent, run.started_by) == ("a?", "\N{GRINNING FACE}")


@pytest.mark.promise("EV-04")
def test_a_run_is_folded_from_its_events() -> None:
    state = fold(
        events(
            STARTED,
            ("step", {"step": 1, "calls": ["v/t", "v/u"], "input_tokens": 7, "output_tokens": 2}),
            ("approval.requested", {**PLACE, **AUTHORITY, "approval": "a-1", "gate": "posture"}),
            ("run.resumed", {"attempt": 2, "step": 1, "losses": 1, "cause": "proof", "holder": "b"}
             | {"calls": [{"index": 0, "call": "v/t", "settlement": "routed_to_its_approval"}]}),
            ("approval.decided", {**PLACE, **AUTHORITY, "approval": "a-1", "decision": "approved", "by": "kim"}),
            ("tool.call", {**PLACE, "effect": "write", "fate": "done", "posture": "posture", "gate": "",
                           "policy": "p", "key": "k", "settlement": "", "ms": 12}),
            ("tool.call", {**PLACE, "index": 1, "tool": "u", "effect": "read", "fate": "refused",
                           "posture": "refused", "gate": "cedar", "policy": "p", "key": "", "settlement": "", "ms": 0}),
            ("run.ended", {"status": "answered", "reason": "", "error": "", "steps": 1, "unsettled": []}),
        )
    )  # fmt: skip
    run = state.runs[RUN].told()
    assert (run["status"], run["agent"], run["version"], run["mission"]) == (
        "answered", "triage", 3, "INC-1",
    )  # fmt: skip
    assert (run["steps"], run["calls_asked"], run["input_tokens"]) == (1, 2, 7)
    first, second = run["calls"]
    assert (first["fate"], first["key"], first["decision"], first["decided_by"], first["run_as"]) == (
        "done", "k", "approved", "kim", "olga",
    )  # fmt: skip
    assert (second["posture"], second["gate"], second["fate"]) == ("refused", "cedar", "refused")
    assert run["resumes"][0]["calls"][0]["settlement"] == "routed_to_its_approval"
    assert run["approvals"][0]["decision"] == "approved"
    assert run["ended"]["event"] == 8


@pytest.mark.promise("EV-04")
def test_what_a_person_said_of_a_call_stands_over_what_its_run_knew() -> None:
    call = {**PLACE, "effect": "write", "key": "k", "policy": "p"}
    (run,) = fold(
        events(
            STARTED,
            ("tool.call", {**call, "fate": "unknown", "settlement": "told_unknown"}),
            ("call.settled", {**PLACE, "fate": "done", "settlement": "by_person", "by": "olga"}),
        )
    ).runs.values()
    (told,) = run.told()["calls"]
    assert (told["fate"], told["settled_by"], told["key"]) == ("done", "olga", "k")


@pytest.mark.promise("EV-04")
def test_events_that_were_never_written_are_counted() -> None:
    state = fold(events(STARTED, ("gap", {"missing": 3}), ("gap", {"missing": 2})))
    assert (state.missing, state.runs[RUN].missing) == (5, 5)


@pytest.mark.promise("EV-04")
def test_the_state_of_a_long_chain_is_bounded() -> None:
    told = [("tool.call", {**PLACE, "step": it, "args": "x" * 1000}) for it in range(3 * MOST)]
    told += [("run.resumed", {"attempt": 2, "calls": [{"index": 1}] * 5000})]
    state = fold(events(STARTED, *told))
    run = state.runs[RUN]
    assert len(run.calls) < MOST
    assert run.has_more
    assert run.calls_left_out + len(run.calls) == 3 * MOST
