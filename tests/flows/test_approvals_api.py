"""`/api/approvals`: what waits is listed, shown with all that it is about, and decided once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from liyagent.access.keys import create_key
from liyagent.approvals import listing
from liyagent.approvals.digests import digest_of
from liyagent.approvals.models import Approval
from runs.keys import approved_call_key
from tests.flows import holding
from tests.flows.conftest import Answer, Api, api_of, make_user
from tests.flows.holding import DECIDER, age, ask, end, written
from tests.unit.runs.carrying.conftest import World, calls, says

held, world = holding.held, holding.world
LIST = "/api/approvals"
NONE = "0190a0a0-0000-7000-8000-000000000000"
SECRET = "db-7.example"
PERMIT = "permit (principal, action, resource);"


@pytest.fixture
def dora(held: World) -> Api:
    """One who may decide."""
    return api_of(make_user("dora", *DECIDER))


@pytest.fixture
def vera(held: World) -> Api:
    """One who sees requests."""
    return api_of(make_user("vera", "approvals.view_approval"))


def address(approval: Approval, verb: str = "") -> str:
    return f"{LIST}/{approval.id}{verb and '/'}{verb}"


def decision(approval: Approval, **changed: Any) -> dict[str, Any]:
    return {"reason": "looks right", "digest": approval.digest, **changed}


def ids(answer: Answer) -> list[str]:
    return [it["id"] for it in answer.data["approvals"]]


def test_what_waits_is_listed_oldest_first_and_all_else_newest_first(
    held: World, vera: Api, dora: Api
) -> None:
    asked = [ask(held, n=number) for number in range(3)]
    dora.post(address(asked[1], "approve"), decision(asked[1]))
    oldest, decided, newest = (str(it.id) for it in asked)
    assert ids(vera.get(f"{LIST}?status=pending")) == [oldest, newest]
    assert ids(vera.get(LIST)) == [newest, decided, oldest]
    assert ids(vera.get(f"{LIST}?status=approved")) == [decided]
    assert ids(vera.get(f"{LIST}?run={asked[2].run_id}")) == [newest]
    assert ids(vera.get(f"{LIST}?run={asked[2].run_id}&status=rejected")) == []
    assert ids(vera.get(f"{LIST}?mission={asked[0].mission}&status=pending")) == [oldest]
    assert ids(vera.get(f"{LIST}?agent=triage&kind=call&status=pending")) == [oldest, newest]
    assert ids(vera.get(f"{LIST}?agent=other")) == []


def test_a_list_tells_no_words_and_nothing_to_decide_by(held: World, dora: Api) -> None:
    ask(held, host=SECRET)
    (row,) = dora.get(LIST).data["approvals"]
    assert SECRET not in str(row)
    assert not {"digest", "arguments", "ceiling", "decision_reason"} & set(row)
    assert (row["status"], row["server"], row["tool"], row["gate"]) == (
        "pending",
        "v",
        "keyed",
        "write_posture",
    )
    assert (row["agent"], row["requested_by"]) == ("triage", "kim")


@pytest.mark.parametrize("narrowed", ["", "status=pending", "agent=triage", "status=approved"])
def test_pages_lead_through_all_requests_once(
    held: World, vera: Api, narrowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_LOOKED_THROUGH", 3)
    first = ask(held, n=1)
    for number in range(6):
        copied(first, minutes=number // 2, status="approved" if number % 2 else "pending")
    wanted = narrowed.removeprefix("status=")
    fits = [
        str(it.id)
        for it in Approval.objects.order_by("created_at", "id")
        if it.status == wanted or "status" not in narrowed
    ]
    found, link = [], f"{LIST}?limit=2&{narrowed}"
    while link:
        answer = vera.get(link)
        assert answer.status == 200
        found += ids(answer)
        link = answer.data["next"]
    assert found == (fits if "pending" in narrowed else fits[::-1])


def test_a_page_that_found_nothing_yet_leads_on(
    held: World, vera: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_LOOKED_THROUGH", 2)
    first = ask(held, n=1)
    last = copied(first, minutes=-9, agent_key="other")
    for number in range(4):
        copied(first, minutes=number)
    pages, link = [], f"{LIST}?agent=other"
    while link:
        answer = vera.get(link)
        pages.append(ids(answer))
        link = answer.data["next"]
    assert pages[0] == []
    assert [it for page in pages for it in page] == [str(last.id)]


def copied(approval: Approval, *, minutes: int = 0, **changed: Any) -> Approval:
    """A request like another, filed so much later."""
    row = Approval.objects.get(id=approval.id)
    row.pk, row.run_id, row._state.adding = uuid4(), uuid4(), True
    row.created_at += timedelta(minutes=minutes)
    for name, value in changed.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("status=open", "pending, approved"),
        ("agent=a b", "agent"),
        ("run=7", "the id of a run"),
        ("mission=-", "mission"),
        ("kind=A", "kind"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=WyJ4IiwgInkiXQ", "cursor"),
        ("sort=x", "the known ones are"),
        ("status=pending&status=approved", "2 times"),
    ],
)
def test_a_list_refuses_what_it_does_not_know(vera: Api, query: str, told: str) -> None:
    answer = vera.get(f"{LIST}?{query.replace(' ', '%20')}")
    assert (answer.status, answer.data["code"]) == (400, "input.bad")
    assert told in answer.data["detail"]


def test_whoever_decides_is_shown_all_that_it_is_about(held: World, dora: Api) -> None:
    big = 2**80
    approval = ask(held, host=SECRET, size=big, share=0.1)
    twin = copied(approval)
    answer = dora.get(address(approval))
    assert answer.status == 200
    told = answer.data
    assert told["arguments"] == {"host": SECRET, "size": big, "share": 0.1}
    assert told["digest"] == approval.digest
    assert told["digest"] == digest_of(
        server="v",
        tool="keyed",
        args=told["arguments"],
        agent="triage",
        run_as=told["run_as"],
        policy_fingerprint=told["policy_fingerprint"],
    )
    assert told["ceiling"]["patterns"] == ["v/*"]
    assert (told["gate"], told["run_as"], told["run_status"]) == ("write_posture", "kim", "waiting")
    assert told["held_reason"]
    assert told["is_open"] is True
    assert 0 <= told["age_seconds"] < 60
    assert 6 * 86_400 < told["seconds_left"] <= 7 * 86_400
    assert [it["id"] for it in told["same_digest"]] == [str(twin.id)]
    assert told["unknown_calls"] == []
    assert told["replaced_by"] is None


def test_earlier_writes_of_unknown_outcome_stand_beside_a_request(held: World, dora: Api) -> None:
    held.vendor.after_effect = lambda _tool: (_ for _ in ()).throw(ConnectionError("cut"))
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    run = held.start(
        calls(("v/blind", {"n": 1}), ids=["toolu_a1b2c3d4e5"]),
        calls(("v/blind", {"n": 1}), ids=["toolu_f6g7h8i9j0"]),
        says("done"),
        started_by="kim",
    )
    assert held.process().carry().status == "waiting"
    approval = Approval.objects.get()
    told = dora.get(address(approval)).data
    assert told["gate"] == "same_intent"
    (unknown,) = told["unknown_calls"]
    assert (unknown["run_id"], unknown["step"], unknown["index"]) == (str(run.id), 1, 0)
    assert unknown["tool"] == "blind"
    held.vendor.after_effect = lambda _tool: None


def test_the_arguments_are_for_those_who_may_read_words_or_decide(
    held: World, vera: Api, dora: Api
) -> None:
    approval = ask(held, host=SECRET)
    told = vera.get(address(approval))
    assert told.status == 200
    assert "arguments" not in told.data
    assert SECRET not in str(told.data)
    reader = api_of(make_user("rita", "approvals.view_approval", "transcripts.content.read"))
    assert reader.get(address(approval)).data["arguments"] == {"host": SECRET}
    narrow = create_key(name="n", username="dora", scopes=["approvals.view_approval"]).token
    assert "arguments" not in Api(token=narrow).get(address(approval)).data


def test_a_key_that_is_not_there_and_a_broken_seal_are_said(
    held: World, dora: Api, vera: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = ask(held, host=SECRET)
    conf = replace(settings.LIYAGENT, seal_keys=(("k9", b"9" * 32),))
    with monkeypatch.context() as patch:
        patch.setattr(settings, "LIYAGENT", conf)
        closed(dora, approval, "seal.key_missing")
        assert vera.get(address(approval)).status == 200
    Approval.objects.update(tool="blind")
    closed(dora, approval, "approval.not_as_filed")
    Approval.objects.update(tool="keyed", sealed=b"x" * 50)
    closed(dora, approval, "seal.broken")
    taken_back = dora.post(address(approval, "withdraw"), {"reason": "cannot be opened"})
    assert (taken_back.status, taken_back.data["status"]) == (200, "withdrawn")


def closed(api: Api, approval: Approval, code: str) -> None:
    before = written(approval.id)
    shown = api.get(address(approval))
    assert (shown.status, shown.data["code"]) == (409, code)
    assert shown.headers["Content-Type"] == "application/problem+json"
    for verb in ("approve", "reject"):
        answer = api.post(address(approval, verb), decision(approval))
        assert (answer.status, answer.data["code"]) == (409, code)
    assert written(approval.id) == before


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-51")
def test_what_is_approved_is_made_once_with_the_key_of_its_approval(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    answer = dora.post(address(approval, "approve"), decision(approval))
    assert answer.status == 200
    assert (answer.data["status"], answer.data["decided_by"]) == ("approved", "dora")
    assert held.process().carry().status == "answered"
    assert [it["key"] for it in held.vendor.rows] == [approved_call_key(approval.id)]
    assert dora.get(address(approval)).data["status"] == "consumed"


@pytest.mark.promise("CR-29")
def test_what_is_approved_after_its_run_went_on_is_made_once(held: World, dora: Api) -> None:
    approval = ask(held, waits=False, n=1)
    shown = dora.get(address(approval)).data
    assert (shown["run_waits"], shown["run_status"]) == (False, "answered")
    assert dora.post(address(approval, "approve"), decision(approval)).status == 200
    assert held.process().carry().status == "answered"
    assert held.vendor.received == ["keyed"]


def test_what_is_rejected_is_told_to_the_agent(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    answer = dora.post(address(approval, "reject"), decision(approval, reason="wrong host"))
    assert (answer.status, answer.data["status"]) == (200, "rejected")
    assert answer.data["decision_reason"] == "wrong host"
    assert held.process().carry().status == "answered"
    assert held.vendor.received == []
    assert "dora rejected this call: wrong host" in held.model.results()[0]


@pytest.mark.field("FL-53")
def test_a_request_replayed_is_answered_with_what_is_settled(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    sent = address(approval, "approve"), decision(approval)
    first = dora.post(*sent)
    before = written(approval.id)
    again = dora.post(*sent)
    assert (again.status, again.data) == (200, first.data)
    assert written(approval.id) == before
    assert held.process().carry().status == "answered"
    later = dora.post(*sent)
    assert (later.status, later.data["status"]) == (200, "consumed")
    assert later.data["settled_at"] >= later.data["consumed_at"]
    assert held.vendor.received == ["keyed"]


def decide_first(held: World, approval: Approval, dora: Api) -> None:
    other = api_of(make_user("paul", *DECIDER))
    assert other.post(address(approval, "reject"), decision(approval)).status == 200


def end_run(held: World, approval: Approval, dora: Api) -> None:
    end(held, approval)


def let_pass(held: World, approval: Approval, dora: Api) -> None:
    age(held, approval)


def be_the_asker(held: World, approval: Approval, dora: Api) -> None:
    Approval.objects.update(requested_by="dora")


def nothing(held: World, approval: Approval, dora: Api) -> None:
    """It is as it was filed."""


@pytest.mark.parametrize(
    ("before", "changed", "expected"),
    [
        (decide_first, {}, (409, "approval.already_decided", "paul rejected it")),
        (end_run, {}, (409, "approval.run_ended", "the run ended")),
        (let_pass, {}, (409, "approval.expired", "expired at")),
        (nothing, {"digest": "0" * 64}, (409, "approval.other_digest", "")),
        (nothing, {"reason": ""}, (400, "approval.bad_reason", "empty")),
        (nothing, {"reason": " \u3000"}, (400, "approval.bad_reason", "empty")),
        (nothing, {"reason": "\u0000"}, (400, "approval.bad_reason", "empty")),
        (nothing, {"reason": "x" * 501}, (400, "approval.bad_reason", "500")),
        (nothing, {"reason": "a\u0007b"}, (400, "approval.bad_reason", "x07")),
        (nothing, {"reason": "a\u202eb"}, (400, "approval.bad_reason", "u202e")),
        (nothing, {"digest": "x" * 65}, (400, "input.bad", "digest")),
        (nothing, {"digest": ""}, (400, "input.bad", "digest")),
        (nothing, {"reason": 7}, (400, "input.bad", "reason")),
        (nothing, {"force": True}, (400, "input.bad", "force")),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing_behind(
    held: World, dora: Api, before: Any, changed: Any, expected: Any
) -> None:
    approval = ask(held, n=1)
    status, code, told = expected
    before(held, approval, dora)
    stood = written(approval.id)
    for verb in ("approve", "reject"):
        answer = dora.post(address(approval, verb), decision(approval) | changed)
        assert (answer.status, answer.data["code"]) == (status, code)
        assert told in answer.data.get("detail", "")
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert written(approval.id) == stood


def test_nobody_approves_their_own_request(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    be_the_asker(held, approval, dora)
    before = written(approval.id)
    answer = dora.post(address(approval, "approve"), decision(approval))
    assert (answer.status, answer.data["code"]) == (403, "approval.own_request")
    assert written(approval.id) == before


@pytest.mark.parametrize("verb", ["approve", "reject", "withdraw"])
def test_an_id_that_is_none_is_not_found(dora: Api, verb: str) -> None:
    body = {"reason": "r"} if verb == "withdraw" else {"reason": "r", "digest": "d"}
    answer = dora.post(f"{LIST}/{NONE}/{verb}", body)
    assert (answer.status, answer.data["code"]) == (404, "approval.not_found")
    assert "GET /api/approvals?status=pending" in answer.data["detail"]
    answer = dora.post(f"{LIST}/7/{verb}", body)
    assert (answer.status, answer.data["code"]) == (404, "not_found")
    assert "see /api/approvals for what there is" in answer.data["detail"]
    assert dora.get(f"{LIST}/{NONE}").data["code"] == "approval.not_found"


def test_without_the_right_nothing_is_seen_or_decided(
    held: World, vera: Api, stranger: Api
) -> None:
    approval = ask(held, n=1)
    before = written(approval.id)
    for verb in ("approve", "reject"):
        answer = vera.post(address(approval, verb), decision(approval))
        assert (answer.status, answer.data["code"]) == (403, "permission.denied")
        assert "approvals.decide" in answer.data["detail"]
    assert stranger.get(LIST).status == 403
    assert stranger.get(address(approval)).status == 403
    assert stranger.post(address(approval, "withdraw"), {"reason": "r"}).status == 403
    assert Api().get(LIST).status == 401
    assert written(approval.id) == before


def test_a_key_decides_only_where_its_scopes_say_so(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    looks = create_key(name="l", username="dora", scopes=["approvals.view_approval"]).token
    answer = Api(token=looks).post(address(approval, "approve"), decision(approval))
    assert answer.status == 403
    assert "the scopes of this key leave out" in answer.data["detail"]
    assert Api(token=looks).post(address(approval, "withdraw"), {"reason": "r"}).status == 403
    decides = create_key(name="d", username="dora", scopes=["approvals.decide"]).token
    answer = Api(token=decides).post(address(approval, "approve"), decision(approval))
    assert answer.status == 200


def test_who_asked_takes_a_request_back_and_nobody_else_learns_of_it(
    held: World, vera: Api
) -> None:
    approval = ask(held, n=1)
    before = written(approval.id)
    for there in (str(approval.id), NONE):
        answer = vera.post(f"{LIST}/{there}/withdraw", {"reason": "r"})
        assert (answer.status, answer.data["code"]) == (403, "approval.not_yours")
        assert NONE not in str(answer.data.get("detail", ""))
    assert written(approval.id) == before
    kim = Api(token=create_key(name="k", username="kim").token)
    answer = kim.post(address(approval, "withdraw"), {"reason": "not needed"})
    assert (answer.status, answer.data["status"]) == (200, "withdrawn")
    assert kim.post(address(approval, "withdraw"), {"reason": "not needed"}).status == 200
    answer = kim.post(address(approval, "withdraw"), {"reason": "another"})
    assert (answer.status, answer.data["code"]) == (409, "approval.already_decided")


def test_a_request_that_went_stale_names_the_one_that_was_filed_in_its_place(
    held: World, dora: Api
) -> None:
    first = ask(held, n=1)
    assert dora.post(address(first, "approve"), decision(first)).status == 200
    held.sql("UPDATE gateway_policy SET text = %s", f'@id("new")\n{PERMIT}')
    held.sql("UPDATE agents_configversion SET version = version + 1")
    assert held.process().carry().status == "waiting"
    second = Approval.objects.get(status="pending")
    told = dora.get(address(first)).data
    assert (told["status"], told["replaced_by"]) == ("stale", str(second.id))
    assert "policies" in told["settled_reason"]
    assert dora.get(address(second)).data["replaces"] == str(first.id)
    answer = dora.post(address(first, "reject"), decision(first))
    assert (answer.status, answer.data["code"]) == (409, "approval.already_decided")
    assert "stale" in answer.data["detail"]
    replayed = dora.post(address(first, "approve"), decision(first))
    assert (replayed.status, replayed.data["status"]) == (200, "stale")
    assert "policies" in replayed.data["settled_reason"]
    assert (replayed.data["replaced_by"], replayed.data["settled_at"]) == (
        str(second.id),
        told["settled_at"],
    )


def test_what_went_stale_in_the_run_that_was_to_make_it_names_what_replaced_it(
    held: World, dora: Api
) -> None:
    first = ask(held, waits=False, n=1)
    assert dora.post(address(first, "approve"), decision(first)).status == 200
    held.sql("UPDATE gateway_policy SET text = %s", f'@id("new")\n{PERMIT}')
    held.process().carry()
    (second,) = Approval.objects.filter(replaces=first.id)
    assert second.run_id != first.run_id
    assert dora.get(address(first)).data["replaced_by"] == str(second.id)


def test_that_an_approval_would_ask_anew_is_told_before_it_is_given(held: World, dora: Api) -> None:
    approval = ask(held, n=1)
    assert told_changed(dora, approval) == [False, False]
    held.sql("UPDATE gateway_policy SET text = %s", f'@id("new")\n{PERMIT}')
    assert told_changed(dora, approval) == [True, True]
    answer = dora.post(address(approval, "approve"), decision(approval))
    assert answer.data["policies_changed"] is True
    assert held.process().carry().status == "waiting"
    assert told_changed(dora, approval) == [False, False]
    assert told_changed(dora, Approval.objects.get(status="pending")) == [False, False]


def told_changed(api: Api, approval: Approval) -> list[bool]:
    rows = {it["id"]: it for it in api.get(LIST).data["approvals"]}
    shown = api.get(address(approval)).data
    return [rows[str(approval.id)]["policies_changed"], shown["policies_changed"]]
