"""Whatever goes wrong at the shell is one line and a non-zero exit."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

import pytest

from liyagent.core import command_line
from liyagent.core.operator import operator_name
from tests.databases import FreshDatabase

ROOT = Path(__file__).resolve().parents[3]


def manage(*arguments: str | bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        timeout=30,
        check=False,
    )


def refusal(answer: subprocess.CompletedProcess[bytes]) -> str:
    """The one line."""
    assert answer.returncode == 1
    (line,) = answer.stderr.decode().splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["runs"],
            "argument.bad: the following arguments are required: verb; `manage.py runs --help`",
        ),
        (["runs", "fly"], "argument.bad: argument verb: invalid choice: 'fly'"),
        (["runs", "list", "--nothing"], "argument.bad: unrecognized arguments: --nothing"),
        (["runs", "stop", "x"], "are required: --reason; `manage.py runs stop --help` shows what"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(arguments: list[str], said: str) -> None:
    assert said in refusal(manage(*arguments))


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("/dev/full", "system.refused: [Errno 28]"),
        ("&-", "output.closed: standard output is closed"),
    ],
)
def test_an_output_that_takes_nothing_is_one_line(output: str, said: str) -> None:
    answer = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" manage.py help >{output}', sys.executable],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    assert answer.returncode == 1
    (line,) = answer.stderr.decode().splitlines()
    assert line.startswith(said)


@pytest.mark.parametrize(
    "arguments", [["help"], ["runs", "--help"], ["check"], ["help", "--traceback"]]
)
def test_a_pipe_that_nobody_reads_any_more_ends_it_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        answer = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={name: it for name, it in os.environ.items() if name != "PYTHONUNBUFFERED"},
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    finally:
        os.close(writing)
    assert (answer.returncode, answer.stderr) == (141, b"")


def test_only_the_beginning_of_what_it_says_is_read(tmp_path: Path) -> None:
    said = tmp_path / "said"
    line = f'{{ "$0" manage.py help 2>{said}; echo $? >&2; }} | head -1'
    answer = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert len(answer.stdout.splitlines()) == 1
    assert (answer.stderr.strip() in {b"0", b"141"}, said.read_text()) == (True, "")


def test_a_connection_that_broke_is_not_taken_for_a_pipe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(_arguments: list[str]) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(command_line, "execute_from_command_line", broken)
    with (tmp_path / "output").open("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert str(command_line.run(["manage.py"])).startswith("system.refused: [Errno 32]")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("/", "/"), "manage.py migrate"),
        (("@", "x@"), "password authentication failed"),
        (("127.0.0.1", "127.0.0.2"), "check DATABASE_URL"),
    ],
    ids=["not migrated", "password", "host"],
)
def test_a_database_that_cannot_be_used_is_one_line(change: tuple[str, str], said: str) -> None:
    url = os.environ["DATABASE_URL"].rpartition("/")[0] + "/postgres"
    line = refusal(manage("agents", "list", DATABASE_URL=url.replace(*change)))
    assert line.startswith("database.refused: ")
    assert said in line


def test_an_argument_that_is_no_text_is_one_line(fresh_db: FreshDatabase) -> None:
    assert refusal(manage("agents", "release", b"\xff", DATABASE_URL=fresh_db.url)) == (
        r"argument.bad: b'\xff' is not UTF-8"
    )


def test_an_operator_without_a_name_is_known_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4242")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert operator_name() == f"cli:uid {os.getuid()}"
