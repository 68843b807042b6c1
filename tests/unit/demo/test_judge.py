"""Verdicts of the demo's judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import liyagent.demo
from liyagent.demo.judge import Kind, Request, RunShown, Verdict, WriteShown, judge, read_requests
from liyagent.demo.play import KINDS, WRITES_A_RUN

SCRIPTS = Path(liyagent.demo.__file__).parent / "scripts"
RUN = "0198c1d2-0000-7000-8000-000000000001"
FIRST = f"{RUN}/1"


def run(status: str = "answered") -> RunShown:
    return RunShown(id=RUN, agent="triage-keyed", status=status)


def write(vendor: str = "incident", fate: str = "done", **facts: Any) -> WriteShown:
    return WriteShown(run_id=RUN, vendor=vendor, step_key="k1", fate=fate, is_caught=True, **facts)


def request(vendor: str = "incident", effect: int | None = 1, key: str = "k1") -> Request:
    return Request(vendor=vendor, step_key=key, marker=FIRST, effect=effect)


def verdict(
    *, runs: list[RunShown] | None = None, writes: list[WriteShown], requests: list[Request]
) -> Verdict:
    return judge(runs=runs or [run()], writes=writes, requests=requests)


def test_one_effect_for_a_write_shown_done_holds_the_promise() -> None:
    assert verdict(writes=[write()], requests=[request()]).broken == ()


def test_the_same_effect_answered_twice_is_no_duplicate() -> None:
    found = verdict(writes=[write()], requests=[request(), request()])

    assert found.duplicates == ()


def test_two_effects_of_one_marker_are_a_duplicate_whatever_their_keys() -> None:
    found = verdict(writes=[write()], requests=[request(), request(effect=2, key="other")])

    assert found.duplicates == (FIRST,)
    assert found.broken == (f"duplicate: {FIRST} took effect more than once",)


@pytest.mark.parametrize("status", ["running", "queued", "failed", "interrupted", "declined"])
def test_a_run_that_did_not_end_answered_is_lost(status: str) -> None:
    found = verdict(runs=[run(status)], writes=[write()], requests=[request()])

    assert [it.status for it in found.lost] == [status]
    assert found.broken == (f"lost: run {RUN} of triage-keyed is {status}",)


@pytest.mark.parametrize("requests", [[], [request(effect=None)], [request(key="k2")]])
def test_a_write_shown_done_without_a_ledger_row_is_missing(requests: list[Request]) -> None:
    found = verdict(writes=[write()], requests=requests)

    assert found.missing == (write(),)
    assert "missing" in found.broken[0]


def test_a_row_of_another_vendor_is_no_row() -> None:
    assert verdict(writes=[write("jira")], requests=[request("incident")]).missing


def test_a_write_that_stays_unsettled_breaks_the_promise() -> None:
    assert "unsettled" in verdict(writes=[write(fate="")], requests=[request()]).broken[0]


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([], "it never left the killed process"),
        ([request("servicenow")], f"{FIRST} took effect"),
        ([request("servicenow", effect=None)], f"{FIRST} had no effect"),
    ],
)
def test_a_blind_write_may_stay_unknown_and_the_ledger_tells_what_became_of_it(
    requests: list[Request], told: str
) -> None:
    found = verdict(writes=[write("servicenow", "unknown")], requests=requests)

    assert [it.told for it in found.unknown] == [told]
    assert found.broken == ()


@pytest.mark.parametrize("requests", [[], [request("incident")]])
def test_a_keyed_write_may_not_stay_unknown(requests: list[Request]) -> None:
    assert "unknown" in verdict(writes=[write("incident", "unknown")], requests=requests).broken[0]


def test_a_readable_write_that_took_effect_may_not_stay_unknown() -> None:
    found = verdict(writes=[write("jira", "unknown")], requests=[request("jira")])

    assert "is readable and should be known" in found.broken[0]


def test_a_readable_write_that_never_arrived_cannot_be_found_and_may_stay_unknown() -> None:
    assert verdict(writes=[write("jira", "unknown")], requests=[]).broken == ()


def test_a_refused_write_without_a_ledger_row_is_not_missing() -> None:
    assert verdict(writes=[write(fate="refused")], requests=[]).missing == ()


@pytest.mark.parametrize("fate", ["failed", "refused", "held"])
def test_a_write_shown_as_not_done_that_took_effect_is_hidden(fate: str) -> None:
    found = verdict(writes=[write(fate=fate)], requests=[request()])

    assert found.hidden == (write(fate=fate),)
    assert f"shown {fate} and took effect" in found.broken[0]


@pytest.mark.parametrize(("status", "asked", "is_left_out"), [("answered", 2, True), ("answered", 1, False), ("failed", 2, False)])  # fmt: skip
def test_an_answered_run_that_shows_fewer_writes_than_its_model_asked_for_left_some_out(
    status: str, asked: int, is_left_out: bool
) -> None:
    shown = RunShown(id=RUN, agent="triage-keyed", status=status, asked=asked)
    found = verdict(runs=[shown], writes=[write()], requests=[request()])

    assert found.left_out == ((shown,) if is_left_out else ())
    assert any(it.startswith("left out") for it in found.broken) is is_left_out


def test_the_scripts_of_the_demo_ask_for_as_many_writes_as_are_judged() -> None:
    for kind in KINDS:
        script = (SCRIPTS / f"triage-{kind}.yaml").read_text()
        steps = yaml.safe_dump(yaml.safe_load(script)["steps"])
        assert len(set(re.findall(r"\[\{\{ run \}\}/\d+\]", steps))) == WRITES_A_RUN


def test_a_kill_that_caught_nothing_proves_nothing() -> None:
    shown = WriteShown(run_id=RUN, vendor="jira", step_key="k1", fate="done")

    found = verdict(writes=[shown], requests=[request("jira")])

    assert found.caught == {Kind.KEYED: 0, Kind.READABLE: 0, Kind.BLIND: 0}
    assert "nothing is proven" in found.broken[0]


def test_marked_requests_are_read_from_a_ledger_and_others_are_left_out() -> None:
    rows = [
        {"args": {"project": "OPS", "summary": f"disk [{FIRST}]"}, "step_key": "k1", "effect": 3},
        {"args": {"text": "web-17"}, "step_key": "", "effect": None},
        {"args": {"summary": "disk [a/1]"}, "step_key": "k2", "effect": 4},
    ]

    assert read_requests({"jira": {"requests": rows}}) == [
        Request(vendor="jira", step_key="k1", marker=FIRST, effect=3)
    ]
