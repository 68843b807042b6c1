"""What could not be told of approvals shows to an operator: at a scrape, at the shell, at the deploy check."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core import checks
from django.core.management import call_command

from liyagent.approvals.models import Notice
from liyagent.core.checks import TAG
from liyagent.core.metrics import NOTICES
from liyagent.operation.scrape import ask as ask_database
from tests.fakes.webhook_receiver import Receiver
from tests.unit.approvals.deciding import reject, the_request
from tests.unit.approvals.telling import deliver, tell
from tests.unit.runs.carrying.conftest import World, calls, says

ROOT = Path(__file__).resolve().parents[3]
UNDELIVERED, OLDEST = "undelivered_notices", "approval_notice_oldest_seconds"


@pytest.fixture
def asked(held: World) -> World:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process().carry()
    return held


def read(url: str) -> dict[tuple[str, ...], float]:
    """What a scrape tells of notices."""
    rows = {(name, *labels): value for name, labels, value in ask_database(url).rows}
    return {key: value for key, value in rows.items() if key[0] in {UNDELIVERED, OLDEST}}


def told(name: str) -> set[str]:
    found = checks.run_checks(tags=[TAG], include_deployment_checks=True)
    return {str(it.id) for it in found if str(it.id) == name}


def counted() -> list[float]:
    """This process's attempts, by outcome."""
    return [NOTICES.of(it)._value.get() for it in ("delivered", "failed", "dead")]


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("approval_notices", *words)
    return capsys.readouterr().out


def test_a_scrape_tells_what_fails_since_when_and_what_was_given_up(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(asked.url) == {(UNDELIVERED, "failing"): 0, (UNDELIVERED, "dead"): 0, (OLDEST,): 0}
    before = counted()
    with Receiver() as receiver:
        tell(receiver, monkeypatch)
        receiver.status = 500
        deliver()
        asked.sql("UPDATE approvals_notice SET created_at = created_at - interval '1 hour'")
        assert read(asked.url)[UNDELIVERED, "failing"] == 1
        assert 3600 <= read(asked.url)[OLDEST,] < 3700
        reject(the_request())
        asked.sql(
            "UPDATE approvals_notice SET give_up_at = liyagent_now(), next_at = liyagent_now()"
            " WHERE kind = 'filed'"
        )
        deliver()
        receiver.status = 200
        deliver()
    assert read(asked.url) == {(UNDELIVERED, "failing"): 0, (UNDELIVERED, "dead"): 1, (OLDEST,): 0}
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 1]


def test_the_shell_lists_why_one_was_not_delivered_and_sends_it_again(
    asked: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Receiver() as receiver:
        tell(receiver, monkeypatch)
        receiver.status = 410
        deliver()
    number = Notice.objects.get().id
    heads, row = typed(capsys, "list", "--state", "pending").splitlines()
    assert heads.split()[:4] == ["ID", "STATE", "TELLS", "REQUEST"]
    assert row.split()[:4] == [str(number), "pending", "filed:", "pending"]
    assert "HTTP 410" in row
    assert len(typed(capsys, "list", "--state", "dead").splitlines()) == 1
    assert "is due now" in typed(capsys, "send-again", str(number))
    with Receiver() as receiver:
        tell(receiver, monkeypatch)
        assert deliver() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send-again", "77"], "notice.not_found: there is no notice 77"),
        (["send-again", "9" * 400], "input.bad: "),
        (["send-again", "x"], "input.bad: 'x' is no number"),
        (["list", "--state", "lost"], "input.bad: 'lost' is no state of a notice"),
        (["list", "--limit", "0"], "input.bad: limit is 0; it wants 1 to 200"),
        ([], "argument.bad: "),
    ],
)
def test_what_cannot_be_typed_is_one_line(asked: World, words: list[str], said: str) -> None:
    typing = [sys.executable, "manage.py", "approval_notices", *words]
    refused = subprocess.run(typing, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert said in line
    assert refused.stdout == ""


@pytest.mark.parametrize("name", ["filed", "changed"])
def test_the_deploy_check_finds_a_trigger_that_was_taken_off(held: World, name: str) -> None:
    assert told("liyagent.E060") == set()
    held.sql(f"ALTER TABLE approvals_approval DISABLE TRIGGER approvals_approval_tell_{name}")
    assert told("liyagent.E060") == {"liyagent.E060"}


def test_the_deploy_check_tells_of_an_address_without_tls(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, expected in (
        ("http://a.example/x", {"liyagent.W061"}),
        ("https://a.example/x", set()),
    ):
        conf = dataclasses.replace(settings.LIYAGENT, approval_webhook_url=url)
        monkeypatch.setattr(settings, "LIYAGENT", conf)
        assert told("liyagent.W061") == expected
