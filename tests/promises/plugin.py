"""Judge the promises at the end of a run of all tests; with `--promises-to FILE` run only the tests that name one.

Loaded by `-p tests.promises.plugin`. A run of a part of the tests is not judged: of a promise whose tests were
left out it knows nothing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.promises.due import DUE
from tests.promises.outcomes import PROPERTY, Outcomes
from tests.promises.verdict import Kept, kept_promises, words_on

# A mark may also name a rule of the house, which is no promise to anybody outside.
PROMISE = re.compile(r"[A-Z]{2}-[0-9]{2}")
# Options of pytest that leave tests out, or run none.
CHOOSING = (
    "keyword",
    "markexpr",
    "deselect",
    "ignore",
    "ignore_glob",
    "lf",
    "stepwise",
    "collectonly",
    "setuponly",
    "setupplan",
)
COMPLETE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write the outcomes."""
    told = "run only the tests that name a promise, and write how they ended to this file, as JSON"
    parser.addoption("--promises-to", type=Path, help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Only the controller writes and judges; xdist's workers send their reports to it."""
    if hasattr(config, "workerinput"):
        return
    path = config.getoption("--promises-to")
    if path is not None:
        config.pluginmanager.register(Written(path))
    elif _is_whole(config):
        config.pluginmanager.register(Judged())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the reports of tests carry the promises that they name; with `--promises-to` keep those tests alone."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        names = [str(name) for mark in item.iter_markers(PROPERTY) for name in mark.args]
        names = [name for name in names if PROMISE.fullmatch(name)]
        item.user_properties += [(PROPERTY, name) for name in dict.fromkeys(names)]
        (chosen if names else others).append(item)
    if others and config.getoption("--promises-to") is not None:
        items[:] = chosen
        config.hook.pytest_deselected(items=others)


class Written(Outcomes):
    """The outcomes, written to a file."""

    def __init__(self, path: Path) -> None:
        """Write to `path` at the end of the session."""
        super().__init__()
        self._path = path

    def pytest_sessionfinish(self) -> None:
        """Write what is known."""
        self._path.write_text(json.dumps({"tests": self.tests, "errors": self.errors}))


class Judged(Outcomes):
    """The outcomes of all tests: a due promise that is not kept fails the session and is named."""

    def __init__(self) -> None:
        """Nothing is judged yet."""
        super().__init__()
        self._due: list[Kept] | None = None

    @property
    def _broken(self) -> list[Kept]:
        return [it for it in self._due or [] if not it.is_kept]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Judge, unless the session ended before its last test."""
        if exitstatus not in COMPLETE or session.shouldstop or session.shouldfail:
            return
        self._due = [it for it in kept_promises(self.tests, DUE) if it.due]
        if self._broken:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it before pytest's own last line."""
        if self._due is None:
            return
        terminalreporter.section("promises")
        for it in self._broken:
            terminalreporter.line(words_on(it))
        if not self._broken:
            terminalreporter.line(f"All {len(self._due)} promises that are due are kept.")


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests were asked for."""
    return config.args == config.getini("testpaths") and not any(
        config.getoption(name, default=None) for name in CHOOSING
    )
