"""`docs/cohort-replay.md`, typed as it stands beside the demo's alert desk; its options, addresses and codes are those there are."""

from __future__ import annotations

import json
import re
import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.replays import urls
from liyagent.replays.cohort import MOST_RUNS, RUNS
from liyagent.replays.management.commands.cohort_replay import Command
from liyagent.replays.models import CohortReplay
from tests.databases import FreshDatabase
from tests.docs.test_approvals_document import typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.replaying import desk_at_work, jobs_carried
from tests.flows.serving import serving

DOCUMENT = "cohort-replay.md"
TEXT = (DOCS / DOCUMENT).read_text()
GIVEN = re.compile(r"(\w+)=\$\((.*)\)")
ENDS_WITH = (
    "1 of 16 runs answered before and does not any more; 3 came out otherwise and 12 are the same."
)
ID = " | grep -o"


@pytest.mark.promise("RP-01")
@pytest.mark.promise("RP-06")
@pytest.mark.timeout(120)
def test_every_line_of_it_does_what_it_says(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with desk_at_work(tmp_path, monkeypatch), serving() as port, jobs_carried():
        places = {"127.0.0.1:8000": f"127.0.0.1:{port}"}
        for line in commands_of(DOCUMENT):
            given = GIVEN.fullmatch(line)
            if given is None and line.startswith("until "):
                wait_until_done(line)
            elif given is None:
                said.append(said_by(Shell(places=places), line))
            elif ID in given[2]:
                answer = json.loads(typed(Shell(places=places), given[2].partition(ID)[0]))
                places[f"${given[1]}"] = answer["id"]
            else:
                places[f"${given[1]}"] = typed(Shell(places=places), given[2]).split()[-1]
    estimate, small, medium, as_json, would_take, told, listed = said
    assert "16 runs, 16 replays" in estimate
    assert ENDS_WITH in small
    assert f"\n    {ENDS_WITH}\n" in TEXT
    assert "came out otherwise" in medium or "came out the same" in medium
    assert json.loads(as_json[as_json.index("{") :])["verdict"] == "changed"
    assert json.loads(would_take)["estimate"]["runs"] == 4
    assert json.loads(told)["status"] == "done"
    assert len(json.loads(listed)["replays"]) == 4


def said_by(shell: Shell, line: str) -> str:
    """What a line prints, whatever code it ends with."""
    out = StringIO()
    if not line.startswith("liyagent cohort_replay"):
        return typed(shell, line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.docs.walk.call_command", lambda *words, **_: run_out(out, *words))
        shell.type(line)
    return out.getvalue()


def run_out(out: StringIO, *words: str) -> None:
    """Carry the command out; it ends with 1 where a run regressed."""
    code: object = 0
    try:
        call_command(*words, stdout=out, stderr=StringIO())
    except SystemExit as ended:
        code = ended.code
    assert code == int("alert-desk-small" in words and "--estimate" not in words)


def wait_until_done(line: str) -> None:
    """What the loop of the document waits for."""
    assert '"status":"done"' in line
    until = time.monotonic() + 30
    while CohortReplay.objects.exclude(status="done").exists():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_its_options_are_those_there_are() -> None:
    parser = Command().create_parser("manage.py", "cohort_replay")
    ours = {it for action in parser._actions for it in action.option_strings if it.startswith("--")}
    own = {it for it in ours if it not in BASE}
    table = TEXT.partition("| Option | Says |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(--[\w-]+)`", table)) | {"--output"} == own
    assert f"({RUNS}; {MOST_RUNS} at most)" in table


def test_its_addresses_are_those_there_are() -> None:
    named = {
        re.sub(r"\{\w+\}", "{}", it) for it in re.findall(r"`(?:GET|POST) /api/([^`?]+)`", TEXT)
    }
    there = {re.sub(r"<[\w:]+>", "{}", str(it.pattern)) for it in urls.urlpatterns}
    assert named == there


BASE = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color", "--skip-checks",
}  # fmt: skip
