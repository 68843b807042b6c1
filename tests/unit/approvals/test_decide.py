"""A decision is one conditional update: whoever comes first, for a reason that can be read, of what can be shown."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F

from liyagent.approvals.decide import decide, expire, expire_due, withdraw
from liyagent.approvals.digests import digest_of
from liyagent.approvals.errors import (
    AlreadyDecided,
    ApprovalExpired,
    BadReason,
    KindUnknown,
    NotAsFiled,
    NotYours,
    OtherDigest,
    OwnRequest,
    RunIsOver,
)
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.reason import checked_reason
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.seal import KeyMissing, SealBroken
from runs.models import Run
from tests.flows import holding
from tests.flows.conftest import make_user
from tests.flows.holding import DECIDER, age, ask, end, written
from tests.unit.runs.carrying.conftest import World

APPROVED, REJECTED = ApprovalStatus.APPROVED, ApprovalStatus.REJECTED
waiting = holding.held
ROUNDS = 5


@pytest.fixture
def held(waiting: World) -> World:
    """Whose runs wait, and those who may decide: dispatch asks again whether they may."""
    for name in ("dora", "paul", "xena", "yuri"):
        make_user(name, *DECIDER)
    return waiting


def decided(approval: Approval, status: ApprovalStatus = APPROVED, **facts: Any) -> Approval:
    known = {"actor": "dora", "reason": "looks right", "digest": approval.digest}
    return decide(approval_id=approval.id, status=status, **{**known, **facts})


def refused(approval: Approval, error: type[LiyagentError], match: str = ".", **facts: Any) -> None:
    before = written(approval.id)
    with pytest.raises(error, match=match):
        decided(approval, **facts)
    assert written(approval.id) == before


def test_a_decision_is_kept_with_who_and_why_and_audited(held: World) -> None:
    approval = ask(held, n=1)
    settled = decided(approval, reason="  looks right ", typed_by="cli:root")
    assert (settled.status, settled.decided_by) == ("approved", "dora")
    assert settled.decision_reason == "looks right"
    assert settled.decided_at is not None
    row = AuditRow.objects.get(action="agent.approval.approved")
    assert (row.actor, row.run_id, row.mission) == ("cli:root", approval.run_id, approval.mission)
    assert row.detail["by"] == "dora"
    assert row.detail["digest"] == approval.digest
    assert AuditRow.objects.get(action="agent.approval.requested").run_id == approval.run_id
    assert Run.objects.get(id=approval.run_id).status == "queued"


@pytest.mark.field("FL-53")
def test_the_very_same_decision_again_returns_what_is_settled_and_changes_nothing(
    held: World,
) -> None:
    approval = ask(held, n=1)
    first = decided(approval)
    before = written(approval.id)
    assert decided(approval).decided_at == first.decided_at
    assert written(approval.id) == before
    assert held.process().carry().status == "answered"
    before = written(approval.id)
    assert decided(approval).status == "consumed"
    assert written(approval.id) == before
    assert held.vendor.received == ["keyed"]


@pytest.mark.parametrize(
    ("facts", "error", "told"),
    [
        ({"actor": "paul"}, AlreadyDecided, "dora approved it"),
        ({"reason": "another"}, AlreadyDecided, "dora approved it"),
        ({"status": REJECTED}, AlreadyDecided, "dora approved it"),
        ({"digest": "0" * 64}, AlreadyDecided, "dora approved it"),
    ],
)
def test_another_decision_about_a_decided_request_is_told_who_decided_what(
    held: World, facts: dict[str, Any], error: type[LiyagentError], told: str
) -> None:
    approval = ask(held, n=1)
    decided(approval)
    refused(approval, error, told, **facts)


@pytest.mark.field("FL-53")
def test_two_same_decisions_at_the_same_moment_are_one(held: World) -> None:
    approval = ask(held, n=1)
    ends = at_once(lambda: decided(approval), lambda: decided(approval))
    assert [it.decided_by for it in ends] == ["dora", "dora"]
    assert AuditRow.objects.filter(action="agent.approval.approved").count() == 1
    assert decisions(held, approval) == ["approved"]
    assert held.process().carry().status == "answered"
    assert held.vendor.received == ["keyed"]


@pytest.mark.field("FL-55")
def test_of_a_yes_and_a_no_at_the_same_moment_one_wins_and_the_other_is_told(held: World) -> None:
    for number in range(ROUNDS):
        approval = ask(held, n=number)
        ends = at_once(
            lambda it=approval: decided(it, actor="xena"),
            lambda it=approval: decided(it, REJECTED, actor="yuri", reason="wrong host"),
        )
        (won,) = [it for it in ends if isinstance(it, Approval)]
        (lost,) = [it for it in ends if not isinstance(it, Approval)]
        assert isinstance(lost, AlreadyDecided)
        assert f"{won.decided_by} {won.status} it" in str(lost)
        assert decisions(held, approval) == [won.status]
        made = len(held.vendor.received)
        assert held.process().carry().status == "answered"
        assert len(held.vendor.received) - made == (won.status == "approved")


def test_a_decision_wants_the_digest_of_what_was_shown(held: World) -> None:
    approval = ask(held, n=1)
    refused(approval, OtherDigest, digest="0" * 64)
    refused(approval, BadInput, "digest is missing", digest="")


def test_nobody_approves_what_they_asked_for_but_may_reject_it(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = ask(held, n=1)
    refused(approval, OwnRequest, "kim asked for it", actor="kim")
    assert decided(approval, REJECTED, actor="kim").status == "rejected"
    assert held.process().carry().status == "answered"
    allowed = replace(settings.LIYAGENT, approve_own_requests=True)
    monkeypatch.setattr(settings, "LIYAGENT", allowed)
    assert decided(ask(held, n=2), actor="kim").status == "approved"


def test_nobody_approves_what_runs_as_them(held: World) -> None:
    approval = ask(held, n=1)
    Approval.objects.update(run_as="dora", requested_by="")
    held.sql("UPDATE approvals_approval SET digest = %s", digest_as("dora", approval))
    refused(Approval.objects.get(), OwnRequest, "runs as dora")


def digest_as(run_as: str, approval: Approval) -> str:
    return digest_of(
        server=approval.server,
        tool=approval.tool,
        args={"n": 1},
        agent=approval.agent_key,
        run_as=run_as,
        policy_fingerprint=approval.policy_fingerprint,
    )


def test_what_has_expired_is_not_decided_whether_it_was_noticed_or_not(held: World) -> None:
    approval = ask(held, n=1)
    age(held, approval)
    refused(approval, ApprovalExpired, "expired at")
    assert expire_due() == 1
    refused(approval, ApprovalExpired, "expired at")
    row = AuditRow.objects.get(action="agent.approval.expired")
    assert (row.actor, row.detail["reason"]) == ("system", "nobody decided in time")
    assert expire_due() == 0
    assert held.process().carry().status == "answered"
    assert held.vendor.received == []


def test_a_request_does_not_expire_before_its_time_or_after_a_decision(held: World) -> None:
    approval = ask(held, n=1)
    with pytest.raises(AlreadyDecided, match="not passed yet"):
        expire(approval.id)
    decided(approval)
    age(held, approval)
    assert expire_due() == 0
    with pytest.raises(AlreadyDecided, match="dora approved it"):
        expire(approval.id)


def test_the_request_of_a_run_that_ended_says_so(held: World) -> None:
    approval = ask(held, n=1)
    end(held, approval)
    refused(approval, RunIsOver, "the run ended")


def test_only_who_asked_or_may_decide_withdraws(held: World) -> None:
    approval = ask(held, n=1)
    known: dict[str, Any] = {"approval_id": approval.id, "reason": "not needed"}
    before = written(approval.id)
    for actor in ("paul", ""):
        with pytest.raises(NotYours):
            withdraw(**known, actor=actor, may_decide=False)
    assert written(approval.id) == before
    settled = withdraw(**known, actor="kim", may_decide=False)
    assert (settled.status, settled.decided_by) == ("withdrawn", "kim")
    assert AuditRow.objects.get(action="agent.approval.withdrawn").actor == "kim"
    refused(approval, AlreadyDecided, "kim withdrawn it")
    assert held.process().carry().status == "answered"
    assert "withdrawn: not needed" in held.model.results()[0]
    other = withdraw(approval_id=ask(held, n=2).id, actor="dora", reason="r", may_decide=True)
    assert other.status == "withdrawn"


def test_what_cannot_be_opened_is_withdrawn_and_never_decided(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = ask(held, n=1)
    ring = settings.LIYAGENT.seal_keys
    other = replace(settings.LIYAGENT, seal_keys=(("k9", b"9" * 32),))
    with monkeypatch.context() as patch:
        patch.setattr(settings, "LIYAGENT", other)
        refused(approval, KeyMissing, ring[0][0])
        refused(approval, KeyMissing, ring[0][0], status=REJECTED)
    Approval.objects.update(sealed=b"x" * 40)
    refused(approval, SealBroken, "arguments do not verify")
    settled = withdraw(approval_id=approval.id, actor="dora", reason="broken", may_decide=True)
    assert settled.status == "withdrawn"


@pytest.mark.field("FL-57")
@pytest.mark.parametrize(
    "changed",
    [
        {"server": "w"},
        {"tool": "blind"},
        {"run_as": "admin"},
        {"agent_key": "other"},
        {"policy_fingerprint": "f"},
        {"digest": "0" * 64},
        {"ceiling": {"patterns": ["*"]}},
    ],
)
def test_a_row_that_shows_another_call_than_was_filed_is_not_decided(
    held: World, changed: dict[str, Any]
) -> None:
    approval = ask(held, n=1)
    Approval.objects.update(**changed)
    refused(Approval.objects.get(id=approval.id), NotAsFiled)


def test_the_words_of_one_request_are_not_those_of_another(held: World) -> None:
    first, second = ask(held, n=1), ask(held, n=2)
    Approval.objects.filter(id=first.id).update(sealed=second.sealed)
    refused(first, SealBroken)


def test_a_process_decides_no_request_of_a_kind_it_does_not_know(held: World) -> None:
    approval = ask(held, n=1)
    Approval.objects.update(kind="routine.adopt")
    refused(approval, KindUnknown, "routine.adopt")
    age(held, approval)
    assert expire_due() == 0
    Approval.objects.update(kind="call", expires_at=F("created_at"))
    assert expire_due() == 1


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        (" \u200d ", "empty"),
        ("x" * 501, "501 characters"),
        ("two\nlines", r"\\n"),
        ("\x1b[2J", r"\\x1b"),
        ("for \u202eevil", r"\\u202e"),
        ("for \u2066evil", r"\\u2066"),
        ("zero\u200bwidth", r"\\u200b"),
        ("tag\U000e0041", r"\\U000e0041"),
        ("two\u2028lines", r"\\u2028"),
    ],
)
def test_a_reason_is_one_line_that_can_be_seen(reason: str, told: str) -> None:
    with pytest.raises(BadReason, match=told):
        checked_reason(reason)


@pytest.mark.field("FL-32")
@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (" looks right ", "looks right"),
        ("x" * 500, "x" * 500),
        ("a\x00b", "a\ufffdb"),
        ("half \ud83d", "half \ufffd"),
        ("確認\u3000済み", "確認\u3000済み"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("ok \U0001f468\u200d\U0001f4bb", "ok \U0001f468\u200d\U0001f4bb"),
    ],
)
def test_a_reason_may_be_of_any_language(reason: str, kept: str) -> None:
    assert checked_reason(reason) == kept


def at_once(*asked: Any) -> list[Any]:
    """Call each in a thread of its own at the same moment; return what came back or was raised."""
    gate = threading.Barrier(len(asked))

    def carry(it: Any) -> Any:
        gate.wait()
        try:
            return it()
        except LiyagentError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(carry, asked))


def decisions(held: World, approval: Approval) -> list[str]:
    """What the event log tells of decisions about a request."""
    run = Run.objects.get(id=approval.run_id)
    told = [json.loads(it.content) for it in held.events(run) if it.kind == "approval.decided"]
    return [it["decision"] for it in told if it["approval"] == str(approval.id)]
