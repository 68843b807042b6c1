"""The house's rules that no linter knows: where things stand, how large they are, what they may not do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_ROOMS = ("runs", "sagas", "events", "routines", "handoffs", "missions")
TOP_LEVEL = {
    *("manage.py", "liyagent", *TOP_ROOMS, "templates", "tests", "requirements.txt"),
    *(
        "README.md",
        "ARCHITECTURE.md",
        "DECISIONS.md",
        "LICENSE",
        "Makefile",
        "pyproject.toml",
        "docs",
    ),
}
MOST_LINES = 500
# Each logs and goes on: the watch that sweeps, the runner that carries runs (a break counts as a loss), the
# queue's jobs, background jobs (which fail with the reason). A registered local tool is foreign code: whatever it raises leaves its write in doubt. So is a
# registered hook: whatever it raises ends the run.
MAY_CATCH_ALL = {
    "liyagent/agents/hooks.py",
    "runs/watch.py",
    "runs/runner.py",
    "runs/jobs.py",
    "runs/rounds.py",
    "liyagent/entry/deliver.py",
    "liyagent/jobs/after_end.py",
    "liyagent/jobs/work.py",
    "runs/hooking.py",
    "liyagent/gateway/local.py",
}
SHAPELESS = {"services.py", "utils.py", "helpers.py", "common.py", "misc.py"}
LONGEST_SLEEP = 0.1
# Programs that tests and trials start on their own may wait; a test may not.
TESTS = "tests/unit", "tests/flows", "tests/architecture"


def python_files(*places: str) -> Iterator[Path]:
    """Yield the Python files below the places that exist."""
    for place in places:
        yield from sorted((ROOT / place).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the file's syntax tree."""
    return ast.parse(path.read_text(), filename=str(path))


def product() -> Iterator[Path]:
    """Yield the product's files."""
    return python_files("liyagent", *TOP_ROOMS)


def shown(path: Path) -> str:
    """Return the path as a reader names it."""
    return path.relative_to(ROOT).as_posix()


def spoken(name: ast.expr) -> str:
    """Return a dotted name, or an empty string for anything else."""
    return ast.unparse(name) if isinstance(name, ast.Name | ast.Attribute) else ""


def test_the_top_level_is_closed() -> None:
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__"))}
    assert found - TOP_LEVEL - {"staticfiles"} == set()


def test_no_file_is_larger_than_five_hundred_lines() -> None:
    large = {
        shown(path)
        for path in (*product(), *python_files("tests"))
        if len(path.read_text().splitlines()) > MOST_LINES
    }
    assert large == set()


def test_no_file_is_named_for_nothing() -> None:
    assert {shown(path) for path in product() if path.name in SHAPELESS} == set()


def test_every_room_says_what_it_is_for() -> None:
    silent = {
        shown(path)
        for path in product()
        if path.name == "__init__.py"
        and not {"migrations", "management", "commands"} & set(path.parts)
        if not ast.get_docstring(parsed(path))
    }
    assert silent == set()


def test_a_room_exports_nothing_from_its_init() -> None:
    exporting = {
        shown(path)
        for path in product()
        if path.name == "__init__.py"
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in parsed(path).body)
    }
    assert exporting == set()


def test_catching_everything_stands_in_the_named_places_only() -> None:
    catching = {
        shown(path)
        for path in product()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ExceptHandler)
        if node.type is None
        or (
            any(spoken(kind) in {"Exception", "BaseException"} for kind in kinds(node.type))
            and not raises_again(node)
        )
    }
    assert catching - MAY_CATCH_ALL == set()


def kinds(caught: ast.expr) -> list[ast.expr]:
    """Return what an `except` line names."""
    return caught.elts if isinstance(caught, ast.Tuple) else [caught]


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether the handler ends by raising what it caught: it only cleans up."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_no_import_of_ours_hides_behind_type_checking() -> None:
    """A heavy package may be imported for its types alone; a room may not, it would hide a cycle."""
    hiding = {
        f"{shown(path)}:{node.lineno}"
        for path in product()
        for block in ast.walk(parsed(path))
        if isinstance(block, ast.If) and spoken(block.test).endswith("TYPE_CHECKING")
        for node in ast.walk(block)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and set(imported(node)) & {"liyagent", *TOP_ROOMS}
    }
    assert hiding == set()


def imported(node: ast.AST) -> list[str]:
    """Return the top-level packages that an import statement names."""
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    if isinstance(node, ast.Import):
        return [name.name.partition(".")[0] for name in node.names]
    return []


def test_migrations_say_their_effect() -> None:
    named = [
        path
        for path in product()
        if path.parent.name == "migrations" and path.name != "__init__.py"
    ]
    assert {shown(path) for path in named if "_auto_" in path.name} == set()


def test_nothing_is_pickled() -> None:
    """Jobs carry ids, checkpoints carry plain data: no byte of ours runs code when it is read."""
    pickling = {
        shown(path)
        for path in product()
        for node in ast.walk(parsed(path))
        if set(imported(node)) & {"pickle", "marshal", "shelve"}
    }
    assert pickling == set()


def test_tests_wait_for_things_and_do_not_sleep() -> None:
    sleeping = {
        f"{shown(path)}:{node.lineno}"
        for path in python_files(*TESTS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and spoken(node.func) in {"sleep", "time.sleep", "asyncio.sleep"}
        for length in node.args
        if isinstance(length, ast.Constant)
        and isinstance(length.value, int | float)
        and length.value > LONGEST_SLEEP
    }
    assert sleeping == set()


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    skipping = {
        f"{shown(path)}:{node.lineno}"
        for path in python_files("tests")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)", spoken(node))
    }
    assert skipping == set()
