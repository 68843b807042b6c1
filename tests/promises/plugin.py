"""Run only tests that name a promise, and write down how each of them ended. Used with `--promises-to FILE`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "promise"
# A mark may also name a rule of the house, which is no promise to anybody outside.
PROMISE = re.compile(r"[A-Z]{2}-[0-9]{2}")
PASSED, FAILED = "passed", "failed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write the outcomes."""
    parser.addoption("--promises-to", required=True, type=Path, help="the file to write, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Only the controller writes; xdist's workers send their reports to it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(config.getoption("--promises-to")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that name promises, and let their reports carry the names."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        names = [str(name) for mark in item.iter_markers(PROPERTY) for name in mark.args]
        names = [name for name in names if PROMISE.fullmatch(name)]
        item.user_properties += [(PROPERTY, name) for name in dict.fromkeys(names)]
        (chosen if names else others).append(item)
    items[:] = chosen
    if others:
        config.hook.pytest_deselected(items=others)


class Outcomes:
    """How the tests of each promise ended: a test passed when its call did and no phase failed."""

    def __init__(self, path: Path) -> None:
        """Write to `path` at the end of the session."""
        self._path = path
        self._tests: dict[str, dict[str, str]] = {}
        self._errors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of one phase of one test."""
        names = [str(value) for name, value in report.user_properties if name == PROPERTY]
        for name in names:
            tests = self._tests.setdefault(name, {})
            if report.outcome != PASSED:
                tests[report.nodeid] = FAILED
            elif report.when == "call":
                tests.setdefault(report.nodeid, PASSED)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected hides its tests."""
        if report.failed and report.nodeid not in self._errors:
            self._errors.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write what is known."""
        told: dict[str, Any] = {"tests": self._tests, "errors": self._errors}
        self._path.write_text(json.dumps(told))
