"""The guards of what monitoring is told, and of migrations."""

from __future__ import annotations

from tests.guards.guard import Guard

VIEWS, SCRAPE = "liyagent/operation/views.py", "liyagent/operation/scrape.py"
FLOWS = "tests/flows/test_metrics.py::"
METRICS = "tests/unit/operation/test_metrics.py::"

MONITORING: tuple[Guard, ...] = (
    Guard(
        name="metrics want their token",
        file=VIEWS,
        search="if token and not _bears(request, token):",
        replace="if False:",
        tests=(f"{FLOWS}test_with_its_token_a_scraper_is_told_and_nobody_else_is",),
    ),
    Guard(
        name="without a token there are no metrics",
        file=VIEWS,
        search="if not token and not _is_at_home(request):",
        replace="if False:",
        tests=(f"{FLOWS}test_without_a_token_there_are_no_metrics_but_for_this_machine_in_debug",),
    ),
    Guard(
        name="the database is asked once in five seconds",
        file=SCRAPE,
        search="if time.monotonic() - kept.asked_at < KEPT_SECONDS:",
        replace="if False:",
        tests=(f"{METRICS}test_the_database_is_asked_once_however_many_scrape",),
    ),
    Guard(
        name="names of agents and servers are bounded",
        file="liyagent/core/metrics.py",
        search="or len(self._names) < self._most_names",
        replace="or True",
        tests=(f"{METRICS}test_a_label_has_two_hundred_names_and_then_is_other",),
    ),
    Guard(
        name="one migrates at a time",
        file="liyagent/operation/management/commands/migrate.py",
        search="with self._alone():",
        replace="if True:",
        tests=(
            "tests/unit/operation/test_migrate.py::test_a_migrate_waits_for_another_one_and_says_so",
        ),
    ),
)
