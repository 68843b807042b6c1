"""A run of all tests judges the promises that are due; a run of some does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises.due import DUE

ROOT = Path(__file__).resolve().parents[3]
LAST, *KEPT = sorted(DUE, reverse=True)
SETTINGS = """
[pytest]
testpaths = tests
markers = promise(id): a promise
"""
SUITE = """
import pytest

@pytest.mark.parametrize("promise", [pytest.param(it, marks=pytest.mark.promise(it)) for it in {kept}])
def test_kept(promise): assert promise not in {broken}

@pytest.mark.promise("house rule")
def test_other(): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A project whose settings are no more than the plugin needs."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    return tmp_path


def run(suite: Path, *arguments: str, kept: list[str], broken: str = "") -> tuple[int, list[str]]:
    """Run a suite with a test of each promise in `kept`; return its exit code and what it printed."""
    (suite / "tests" / "test_all.py").write_text(SUITE.format(kept=kept, broken=[broken]))
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ["-p", "tests.promises.plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--color=no", *arguments],
        cwd=suite,
        env={**env, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout.strip().splitlines()


def named(lines: list[str]) -> list[str]:
    """The lines that name a promise that is not kept."""
    return [it for it in lines if it.startswith("not kept")]


def test_a_due_promise_without_a_test_fails_a_run_in_which_all_tests_pass(suite: Path) -> None:
    code, lines = run(suite, kept=KEPT)
    assert code == 1
    assert named(lines) == [f"not kept: {LAST} {DUE[LAST].text} (no test names it)"]
    assert f"{len(KEPT) + 1} passed in" in lines[-1]


def test_outcomes_reach_the_verdict_from_workers(suite: Path) -> None:
    failing = KEPT[-1]
    code, lines = run(suite, "-n", "2", "--dist", "loadfile", kept=KEPT, broken=failing)
    assert code == 1
    assert [it.split()[2] for it in named(lines)] == [failing, LAST]
    at = lines.index(f"not kept: {failing} {DUE[failing].text}")
    assert lines[at + 1] == f"    failed: tests/test_all.py::test_kept[{failing}]"
    assert f"1 failed, {len(KEPT)} passed in" in lines[-1]


def test_a_run_of_all_tests_says_that_all_is_kept(suite: Path) -> None:
    code, lines = run(suite, kept=list(DUE))
    assert code == 0
    assert f"All {len(DUE)} promises that are due are kept." in lines
    assert f"{len(DUE) + 1} passed in" in lines[-1]


@pytest.mark.parametrize(
    "chosen",
    [["-k", "other"], ["tests/test_all.py"], [f"--deselect=tests/test_all.py::test_kept[{LAST}]"]],
)
def test_a_run_of_some_tests_is_not_judged(suite: Path, chosen: list[str]) -> None:
    code, lines = run(suite, *chosen, kept=KEPT)
    assert code == 0
    assert not named(lines)
    assert not [it for it in lines if it.startswith("All")]


def test_a_run_that_stops_early_is_not_judged(suite: Path) -> None:
    code, lines = run(suite, "-x", kept=list(DUE), broken=KEPT[-1])
    assert code == 1
    assert not named(lines)
