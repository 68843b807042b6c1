"""`manage.py cohort_replay`: what it tells, and the code that it ends with."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from liyagent.core.command_line import run
from liyagent.jobs.after_end import do_after_end
from liyagent.jobs.models import Job
from liyagent.jobs.work import work_long
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from liyagent.replays import await_end
from liyagent.replays.listing import find_replay
from liyagent.replays.management.commands import cohort_replay
from liyagent.replays.models import CohortReplay
from runs.models import Run
from tests.fakes.model_server import Turn
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world
from tests.unit.runs.carrying.conftest import never

__all__ = ["cohorts", "replays", "world"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(await_end, "LOOK_SECONDS", 0.02)


@contextmanager
def serving() -> Iterator[None]:
    """A process that carries what is asked for."""
    over = threading.Event()

    def work() -> None:
        OWN.holder = register_holder(own_identity(), name="w", lease_seconds=60, formats=[1], key_ids=["k"])  # fmt: skip
        while not over.wait(0.02):
            work_long(never)
            do_after_end(never)
        connection.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=10)


def shell(cohorts: Cohorts, *arguments: str) -> tuple[int, str, str]:
    """Type the command with the cheaper model; return its code, and what it said on both ways out."""
    out, err = StringIO(), StringIO()
    given = cohorts.override
    endpoint = [f"--model={given['model']}", f"--provider={given['provider']}", f"--base-url={given['base_url']}"]  # fmt: skip
    try:
        call_command("cohort_replay", "triage", *endpoint, *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@pytest.mark.promise("RP-06")
def test_it_waits_shows_how_far_it_is_and_ends_with_0_where_all_is_the_same(cohorts: Cohorts) -> None:  # fmt: skip
    runs = cohorts.record(2)
    with serving():
        code, out, err = shell(cohorts)
    assert code == 0
    assert out.splitlines()[0].startswith("triage at version 1, with model cheaper; provider openai; ")  # fmt: skip
    assert f"{runs[0].id}  same     same    answered  same   1 exact  0 > 36" in out
    assert "All 2 runs came out the same" in out
    assert out.splitlines()[-1] == f"same: cohort replay {CohortReplay.objects.get().id}"
    assert "2 of 2 replays" in err, "what was done at the end is shown, however quick it was"
    took = r"^tokens in 0 > \d+; tokens out 0 > \d+; waited for the model [\d.]+ s > [\d.]+ s$"
    assert re.search(took, out, re.MULTILINE), out


def test_it_ends_with_0_where_something_changed_and_with_1_where_a_run_regressed(cohorts: Cohorts) -> None:  # fmt: skip
    cohorts.record(2)
    with serving():
        cohorts.turns[1] = Turn(text="otherwise")
        code, out, _ = shell(cohorts)
        assert (code, "1 of 2 runs came out otherwise" in out) == (0, True)
        cohorts.turns[1] = Turn(text="", refusal="no")
        code, out, _ = shell(cohorts, "--strict")
        assert (code, "answered before and does not any more" in out) == (1, True)


def test_json_is_what_the_api_tells(cohorts: Cohorts) -> None:
    runs = cohorts.record(2)
    with serving():
        code, out, _ = shell(cohorts, "-o", "json", "--run", str(runs[0].id), "--baseline=1")
    told: dict[str, Any] = json.loads(out)
    assert (code, told["verdict"], told["verified"], told["runs"]) == (0, "same", True, [str(runs[0].id)])  # fmt: skip
    assert [it["lane"] for it in told["results"]] == [0, 1]


def test_an_estimate_sends_nothing(cohorts: Cohorts) -> None:
    cohorts.record(2)
    code, out, _ = shell(cohorts, "--estimate")
    assert (code, "2 runs, 2 replays: about 4 model calls" in out) == (0, True)
    told = json.loads(shell(cohorts, "--estimate", "-o", "json")[1])
    assert told["estimate"]["model_calls"] == 4
    assert not CohortReplay.objects.exists()


def test_no_verdict_is_2(cohorts: Cohorts) -> None:
    """Nothing to replay; a model that is not there; a replay that was cancelled."""
    (run,) = cohorts.record(1)
    with serving():
        cohorts.before = lambda _body: Turn(status=404, text="no such model")
        code, out, _ = shell(cohorts)
        assert (code, "no such model" in out) == (2, True)
        Run.objects.update(recording="metadata")
        code, out, _ = shell(cohorts)
        assert (code, "No run could be replayed" in out, f"skipped {run.id}: it was recorded as metadata" in out) == (2, True, True)  # fmt: skip


def test_where_nobody_carries_it_it_says_so_and_leaves_it_queued(cohorts: Cohorts) -> None:
    cohorts.record(1)
    cohorts.world.sql("DELETE FROM leases_holder")
    code, out, err = shell(cohorts, "--patience=0.1")
    assert (code, out, "no process is there to carry it" in err) == (2, "", True)
    replay = CohortReplay.objects.get()
    assert (replay.status, str(replay.id) in err, Job.objects.get().status) == ("queued", True, "queued")  # fmt: skip
    with serving():
        code, _, err = shell(cohorts)
    assert (code, f"the very same goes on already: cohort replay {replay.id}" in err) == (0, True)


def test_where_whoever_carried_it_is_gone_it_does_not_wait_for_ever(cohorts: Cohorts) -> None:
    cohorts.record(1)
    cohorts.ask(override=cohorts.override)
    cohorts.world.sql("UPDATE replays_cohortreplay SET status = 'running'")
    cohorts.world.sql("UPDATE jobs_job SET status = 'running', claimed_by = gen_random_uuid()")
    cohorts.world.sql("DELETE FROM leases_holder")
    code, _, err = shell(cohorts, "--patience=0.1")
    assert code == 2
    assert "no process is there to carry it" in err


@pytest.mark.promise("RP-05")
def test_a_verdict_that_does_not_verify_is_none(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    cohorts.record(1)
    replay = cohorts.done()
    cohorts.world.sql("UPDATE replays_replayed SET status = 'stopped'")
    monkeypatch.setattr(cohort_replay.Command, "_carried", lambda *_, **__: find_replay(replay.id))
    code, out, _ = shell(cohorts)
    assert code == 2
    assert "does not verify: the results of its runs were changed since" in out


def test_whoever_stops_waiting_is_told_that_it_goes_on(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def stop(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    cohorts.record(1)
    monkeypatch.setattr("liyagent.replays.management.commands.cohort_replay.await_replay", stop)
    code, _, err = shell(cohorts)
    assert (code, f"manage.py jobs cancel {Job.objects.get().id}" in err) == (130, True)


def test_instructions_are_read_from_a_file(cohorts: Cohorts, tmp_path: Path) -> None:
    cohorts.record(1)
    (tmp_path / "brief.txt").write_text("Be brief.\n")
    told = json.loads(shell(cohorts, f"--instructions-file={tmp_path / 'brief.txt'}", "--estimate", "-o", "json")[1])  # fmt: skip
    assert told["override"]["instructions"] == "Be brief.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "--model=x"], "agent.unknown: there is no agent 'none'"),
        (["triage", "--model=list"], "replays.invalid: override changes nothing"),
        (["triage", "--model=x", "--limit=51"], "limit wants a whole number from 1 to 50"),
        (["triage", "--model=x", "--limit=a"], "argument --limit: invalid int value"),
        (["triage", "--model=x", "--run=7"], "runs[0] is '7'; it wants the id of a run"),
        (["triage", "--provider=openia"], "override.provider is 'openia'; it wants one of"),
        (["triage", "--model=x", "--limit=3", "--run=7"], "not allowed with argument"),
        (["triage"], "nothing is tried: give --model"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_code_2(cohorts: Cohorts, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    """1 would say that a run regressed."""
    try:
        code: object = run(["manage.py", "cohort_replay", *arguments])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    (line,) = told.err.strip().splitlines()
    assert said in line
    assert not CohortReplay.objects.exists()
