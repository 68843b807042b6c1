"""Ruling 1: leases, deadlines and slots are written and judged by the database's clock alone."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.test_house import ROOT, parsed, python_files, shown, spoken

WALL_CLOCKS = re.compile(
    r"(.*\.)?(datetime|date|timezone|time)\.(now|utcnow|today|time|time_ns|localtime|gmtime)"
)
STAMPS = {"auto_now", "auto_now_add", "default"}
SERVER_CLOCK = re.compile(
    r"\b(now\(\)|clock_timestamp|current_timestamp|localtimestamp)", re.IGNORECASE
)
# The server's start and a connection's are told by this clock: the grace of a sweep is measured by it.
GRACE = "clock_timestamp() >= make_interval(secs => p_grace_seconds)"


# Ids sort by a wall clock (`liyagent/core/ids.py`), and nothing is decided by them.
PLACES = "runs", "liyagent/leases", "liyagent/jobs"


@pytest.mark.field("FL-16")
def test_no_process_tells_the_time_that_a_lease_or_a_deadline_is_made_of() -> None:
    told = {
        f"{shown(path)}: {spoken(node)}"
        for path in python_files(*PLACES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and WALL_CLOCKS.fullmatch(spoken(node))
    }
    assert told == set()


@pytest.mark.field("FL-16")
def test_no_column_of_a_run_or_a_lease_is_stamped_by_the_process() -> None:
    stamped = {
        f"{shown(path)}:{node.lineno}"
        for path in python_files(*PLACES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and spoken(node.func).endswith(("DateTimeField", "DateField"))
        if STAMPS & {it.arg for it in node.keywords}
    }
    assert stamped == set()


@pytest.mark.field("FL-16")
def test_the_hot_statements_ask_the_one_clock() -> None:
    """Not the server's own either: tests move the one clock, and would not see what another decided."""
    asked = [
        line.strip()
        for path in sorted((ROOT / "runs" / "sql").glob("*.sql"))
        for line in path.read_text().splitlines()
        if SERVER_CLOCK.search(line)
    ]
    assert [line for line in asked if GRACE not in line] == []
    assert len(asked) == 1
