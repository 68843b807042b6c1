"""`manage.py doubts`: what is in doubt, all that is known of it, and what a person says of it, at the shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.access.errors import UserUnknown
from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.models import Tool, ToolServer
from runs.checkpoint import sealer_of
from runs.errors import CallNotFound, CallSettled, NoReader
from runs.marks import open_outcome
from runs.models import Call, Run
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user
from tests.flows.doubting import KEY, doubt, ended_run

ROOT = Path(__file__).resolve().parents[2]
SAW = ("--reason", "OPS-7 stands on the board", "--user", "sara")


@pytest.fixture
def sara(agent: Agent) -> str:
    """One who may say what happened."""
    return str(make_user("sara", "runs.settle_call").username)


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("doubts", *words)
    return capsys.readouterr().out


def test_what_is_in_doubt_is_listed_a_page_at_a_time(
    agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(capsys, "list") == "No write is in doubt.\n"
    run = ended_run(mission="INC-1")
    made = [doubt(run, number=it).id for it in range(3)]
    head, *rows, advice = typed(capsys, "list").splitlines()
    assert head.split() == ["ID", "STATE", "CALL", "AGENT", "MARKED", "RUN", "STEP", "KEY"]
    assert [row.split()[:4] for row in rows] == [
        [str(it), "unknown", "jira/create_issue", "triage"] for it in made
    ]
    assert rows[0].split()[-2:] == [str(run.id), KEY]
    assert advice.startswith("doubts show ID")
    first = typed(capsys, "list", "--limit", "2").splitlines()
    assert len(first) == 5
    cursor = first[-1].split()[-1]
    rest = typed(capsys, "list", "--limit", "2", "--cursor", cursor).splitlines()
    assert rest[1].split()[0] == str(made[2])
    assert typed(capsys, "list", "--mission", "INC-2") == "No write is in doubt.\n"


def test_a_call_is_shown_with_what_was_sent_and_nothing_moves_the_cursor(
    agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    call = doubt(ended_run(), settled_reason="a\x1b[2Jb")
    shown = typed(capsys, "show", str(call.id))
    for word in (
        "jira/create_issue",
        "nobody knows",
        "Look at jira",
        KEY,
        '"title": "disk 4 is full"',
    ):
        assert word in shown
    assert "\x1b" not in shown
    Call.objects.update(tool="delete_issue")
    assert "does not verify" in typed(capsys, "show", str(call.id))


def test_it_happened_is_said_with_its_result_and_kept_with_both_names(
    sara: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = doubt(ended_run())
    said = typed(capsys, "happened", str(call.id), "--result", '{"key": "OPS-7"}', *SAW)
    assert said == f"{call.id} jira/create_issue is done: it happened, says sara\n"
    call.refresh_from_db()
    assert (call.fate, call.settled_by) == ("done", "sara")
    kept = open_outcome(sealer_of(Run.objects.get(id=call.run_id)), call).result
    assert kept == {"key": "OPS-7"}
    audited = AuditRow.objects.get(action="agent.call.settled_by_person")
    assert audited.actor.startswith("cli:")
    assert (audited.detail["by"], audited.detail["reason"]) == ("sara", SAW[1])
    with pytest.raises(CallSettled, match="sara said that it happened"):
        typed(capsys, "did-not", str(call.id), *SAW)


def test_it_did_not_and_words_for_a_result(sara: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = ended_run()
    first, second = doubt(run), doubt(run, number=1)
    said = typed(capsys, "did-not", str(first.id), *SAW)
    assert said == f"{first.id} jira/create_issue is failed: it did not happen, says sara\n"
    typed(capsys, "happened", str(second.id), "--result", "OPS-7, by hand", *SAW)
    second.refresh_from_db()
    assert open_outcome(sealer_of(Run.objects.get(id=run.id)), second).result == "OPS-7, by hand"


def test_a_vendor_is_asked_again_where_its_tool_has_a_reader(
    sara: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = doubt(ended_run())
    with pytest.raises(NoReader):
        typed(capsys, "look-again", str(call.id), *SAW)
    server = ToolServer.objects.create(key="jira", transport="local")
    reader = {"tool": "jira/find", "args": {}, "match": {"records": "", "field": "key"}}
    Tool.objects.create(server=server, name="create_issue", reader=reader)
    forget_contracts()
    assert "is asked within some seconds" in typed(capsys, "look-again", str(call.id), *SAW)
    call.refresh_from_db()
    assert call.late_look_at is not None
    assert AuditRow.objects.get(action="agent.call.look_again").detail["by"] == "sara"


def test_only_one_who_may_settle_says_what_happened(
    agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    call = doubt(ended_run())
    make_user("vic", "runs.view_call")
    for verb in ("happened", "did-not", "look-again"):
        with pytest.raises(BadInput, match=r"runs\.settle_call"):
            typed(capsys, verb, str(call.id), "--reason", "r", "--user", "vic")
        with pytest.raises(UserUnknown, match="no active user 'nobody'"):
            typed(capsys, verb, str(call.id), "--reason", "r", "--user", "nobody")
        with pytest.raises(UserUnknown, match="say with --user"):
            typed(capsys, verb, str(call.id), "--reason", "r")
    call.refresh_from_db()
    assert call.fate == "unknown"
    assert not AuditRow.objects.filter(action__startswith="agent.call").exists()


@pytest.mark.parametrize("wrong", ["x", "-1", "1.5", "9" * 30, "٣"])
def test_what_is_no_id_is_told_with_what_to_do(sara: str, wrong: str) -> None:
    for verb in ("show", "did-not"):
        words = [verb, "--", wrong] if verb == "show" else [verb, *SAW, "--", wrong]
        with pytest.raises(BadInput, match="doubts list"):
            call_command("doubts", *words)


def test_an_unknown_id_and_a_bad_filter_are_told_with_what_to_do(sara: str) -> None:
    with pytest.raises(CallNotFound, match="doubts list"):
        call_command("doubts", "show", "777")
    with pytest.raises(BadInput, match="unknown, open"):
        call_command("doubts", "list", "--state", "lost")
    deep = "[" * 200 + "]" * 200
    with pytest.raises(BadInput, match="cannot be kept"):
        call_command("doubts", "happened", "777", "--result", deep, *SAW)


def test_it_fails_in_one_line(fresh_db: FreshDatabase) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "doubts", "happened", "7"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--reason" in done.stderr
