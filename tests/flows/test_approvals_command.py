"""`manage.py approvals`: what waits, all that it is about, and the decision, at the shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.access.errors import UserUnknown
from liyagent.approvals.errors import (
    AlreadyDecided,
    ApprovalNotFound,
    BadReason,
    OwnRequest,
)
from liyagent.approvals.models import Approval
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from tests.flows import holding
from tests.flows.conftest import make_user
from tests.flows.holding import DECIDER, ask, written
from tests.unit.runs.carrying.conftest import World

held, world = holding.held, holding.world
ROOT = Path(__file__).resolve().parents[2]
NONE = "0190a0a0-0000-7000-8000-000000000000"


@pytest.fixture
def dora(held: World) -> str:
    """One who may decide."""
    return str(make_user("dora", *DECIDER).username)


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("approvals", *words)
    return capsys.readouterr().out


def test_what_waits_is_listed_shown_and_approved(
    held: World, dora: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, host="db-7\x1b[2J", n=2**70)
    head, row = typed(capsys, "list").splitlines()
    assert head.split()[:3] == ["ID", "STATUS", "CALL"]
    assert row.split()[:5] == [str(approval.id), "pending", "v/keyed", "triage", "kim"]
    shown = typed(capsys, "show", str(approval.id))
    for word in (approval.digest, "write_posture", "ceiling: patterns", "v/*", "waiting"):
        assert word in shown
    assert '"host": "db-7\\u001b[2J"' in shown
    assert f'"n": {2**70}' in shown
    assert "\x1b" not in shown
    said = typed(capsys, "approve", str(approval.id), "--reason", "looks right", "--user", dora)
    assert said == f"{approval.id} v/keyed is approved\n"
    audited = AuditRow.objects.get(action="agent.approval.approved")
    assert audited.actor.startswith("cli:")
    assert audited.detail["by"] == "dora"
    assert held.process().carry().status == "answered"
    assert held.vendor.received == ["keyed"]
    assert Approval.objects.get().status == "consumed"
    assert len(typed(capsys, "list").splitlines()) == 1
    assert "consumed" in typed(capsys, "list", "--status", "all", "--agent", "triage")
    assert "dora" in typed(capsys, "list", "--status", "consumed")


def test_a_request_is_rejected_and_withdrawn(
    held: World, dora: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ask(held, n=1), ask(held, n=2)
    said = typed(capsys, "reject", str(first.id), "--reason", "wrong host", "--user", dora)
    assert said.endswith("v/keyed is rejected\n")
    said = typed(capsys, "withdraw", str(second.id), "--reason", "not needed", "--user", dora)
    assert said.endswith("v/keyed is withdrawn\n")
    assert Approval.objects.get(id=second.id).decided_by == "dora"


def test_what_stands_beside_a_request_is_shown(
    held: World, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ask(held, n=1), ask(held, n=1)
    assert first.digest == second.digest
    shown = typed(capsys, "show", str(first.id))
    assert "THE SAME CALL WAITS AS" in shown
    assert str(second.id) in shown


def test_who_decides_is_a_user_who_may(
    held: World, dora: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, n=1)
    make_user("stan")
    decision = ("approve", str(approval.id), "--reason", "r")
    before = written(approval.id)
    monkeypatch.setattr("getpass.getuser", lambda: "nobody-here")
    with pytest.raises(UserUnknown, match="say with --user who decides"):
        call_command("approvals", *decision)
    with pytest.raises(UserUnknown, match="no active user 'else'"):
        call_command("approvals", *decision, "--user", "else")
    with pytest.raises(BadInput, match=r"approvals\.decide"):
        call_command("approvals", *decision, "--user", "stan")
    kim = make_user("kim2", *DECIDER)
    Approval.objects.update(requested_by=kim.username)
    with pytest.raises(OwnRequest):
        call_command("approvals", *decision, "--user", "kim2")
    Approval.objects.update(requested_by="kim")
    assert written(approval.id) == before
    monkeypatch.setattr("getpass.getuser", lambda: dora)
    assert typed(capsys, *decision).endswith("is approved\n")
    with pytest.raises(AlreadyDecided, match="dora approved it"):
        call_command("approvals", "reject", *decision[1:])


def test_what_cannot_be_done_is_said(held: World, dora: str) -> None:
    approval = ask(held, n=1)
    with pytest.raises(BadInput, match="is no id of a request"):
        call_command("approvals", "show", "x")
    with pytest.raises(ApprovalNotFound):
        call_command("approvals", "show", NONE)
    with pytest.raises(ApprovalNotFound):
        call_command("approvals", "approve", NONE, "--reason", "r", "--user", dora)
    with pytest.raises(BadReason):
        call_command("approvals", "reject", str(approval.id), "--reason", " ", "--user", dora)
    with pytest.raises(BadInput, match="one of pending"):
        call_command("approvals", "list", "--status", "open")
    with pytest.raises(BadInput, match="limit"):
        call_command("approvals", "list", "--limit", "0")


@pytest.mark.parametrize(
    "words",
    [
        ["show", "x"],
        ["approve", NONE, "--reason", "r", "--user", "nobody"],
        ["approve", NONE],
        ["decide", NONE],
    ],
)
def test_what_is_wrong_is_one_line(held: World, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "approvals", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_changed_policies_are_told_before_a_decision_and_a_stale_request_after_it(
    held: World, dora: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approval, other = ask(held, n=1), ask(held, n=1)
    assert "policies have changed" not in typed(capsys, "list") + typed(
        capsys, "show", str(other.id)
    )
    rows = [line.split()[-4:-1] for line in typed(capsys, "list").splitlines()[1:]]
    assert rows == [[str(it.run_id), "1.0", it.digest[:8]] for it in (approval, other)]
    decision = ("approve", str(approval.id), "--reason", "r", "--user", dora)
    typed(capsys, *decision)
    held.sql("UPDATE gateway_policy SET text = text || '\n// another text'")
    assert held.process().carry().status == "waiting"
    later = Approval.objects.get(replaces=approval.id)
    listed = typed(capsys, "list")
    assert "approved, it is not made, and is asked for anew" in listed
    marked = {line.split()[0]: line.endswith("changed") for line in listed.splitlines()[1:3]}
    assert marked == {str(other.id): True, str(later.id): False}
    assert "the policies have changed since" in typed(capsys, "show", str(other.id))
    again = typed(capsys, *decision)
    assert "is stale: changed since it was approved: the policies" in again
    assert f"asked anew as {later.id}" in again
