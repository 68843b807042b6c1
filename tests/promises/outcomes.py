"""How the tests of each promise ended, taken from pytest's reports where they arrive: at the controller."""

from __future__ import annotations

import pytest

PROPERTY = "promise"
PASSED, FAILED = "passed", "failed"


class Outcomes:
    """How the tests of each promise ended: a test passed when its call did and no phase failed.

    Registered as a plugin. Under xdist the workers' reports arrive here, with the names that they carry.
    """

    def __init__(self) -> None:
        """Nothing has run yet. `tests` is by promise and test, `errors` names files without tests."""
        self.tests: dict[str, dict[str, str]] = {}
        self.errors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of one phase of one test."""
        names = [str(value) for name, value in report.user_properties if name == PROPERTY]
        for name in names:
            tests = self.tests.setdefault(name, {})
            if report.outcome != PASSED:
                tests[report.nodeid] = FAILED
            elif report.when == "call":
                tests.setdefault(report.nodeid, PASSED)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected hides its tests."""
        if report.failed and report.nodeid not in self.errors:
            self.errors.append(report.nodeid)
