"""A run that does not wait cannot bury whoever decides under requests."""

from __future__ import annotations

import pytest

from liyagent.approvals.models import Approval
from liyagent.providers.types import ModelAnswer, ModelRequest
from runs import file_call
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve
from tests.unit.runs.carrying.conftest import Model, World, calls, says


def test_a_run_that_goes_on_has_a_bounded_number_of_requests_open(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_call, "MOST_OPEN", 2)
    held.sql(HOLD_AND_GO_ON)
    held.start(calls(*(("v/keyed", {"n": number}) for number in range(4))), says("done"))
    assert held.process("first").carry().status == "answered"
    assert Approval.objects.count() == 2
    told = held.model.results()
    assert ["waits for a person's approval" in it for it in told] == [True, True, False, False]
    assert "2 calls of this run wait for a person already" in told[2]
    assert held.vendor.received == []


def test_what_is_decided_makes_room_for_the_next_request(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_call, "MOST_OPEN", 1)
    held.sql(HOLD_AND_GO_ON)
    ask = Model.ask

    def ask_once_decided(model: Model, request: ModelRequest) -> ModelAnswer:
        for waiting in Approval.objects.filter(status="pending"):
            approve(waiting)
        return ask(model, request)

    monkeypatch.setattr(Model, "ask", ask_once_decided)
    held.start(calls(("v/keyed", {"n": 1})), calls(("v/keyed", {"n": 2})), says("done"))
    assert held.process("first").carry().status == "answered"
    assert Approval.objects.count() == 2
