"""`python -m tests.guards`: take each guard out of a copy of the tree and see its tests turn red.

Arguments are parts of the names of guards to try; without any, all are. Exit code 0 if every test was green
with its guard and red without it, else 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from liyagent.core.errors import LiyagentError
from tests.guards.guard import Guard
from tests.guards.guards import GUARDS
from tests.guards.tree import Tree, copied_tree

WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What taking a guard out did: the tests that stayed green although they should not, or why it failed."""

    guard: Guard
    green: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_shown(self) -> bool:
        """Whether every test noticed that the guard was gone."""
        return not self.green and not self.problem


def main(arguments: list[str]) -> int:
    """Try the guards and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.guards", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of guards; none: all")
    wanted = parser.parse_args(arguments).names
    guards = [it for it in GUARDS if not wanted or any(name in it.name for name in wanted)]
    began = time.monotonic()
    try:
        tried = _try_all(guards)
    except LiyagentError as error:
        _say(f"{error.code}: {error}")
        return 1
    green = [it for it in tried if not it.is_shown]
    _say(f"{len(guards)} guards, {len(green)} not shown, {time.monotonic() - began:.0f} s")
    for it in green:
        _say(f"\n{it.guard.name}: {it.problem or 'stayed green: ' + ', '.join(it.green)}")
    return 1 if green or not guards else 0


def _try_all(guards: Sequence[Guard]) -> list[Tried]:
    """Try them in a few copies side by side, once all tests are green with every guard in."""
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="liyagent-guards-"))
        )
        # Servers end with the thread that started them: this one.
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(WORKERS):
            trees.put(stack.enter_context(copied_tree(directory / str(number))))
        _check_green(trees, [test for guard in guards for test in guard.tests])
        _say(f"{'guard':<52} red without it")
        with ThreadPoolExecutor(WORKERS) as workers:
            return list(workers.map(lambda guard: _try(trees, guard), guards))


def _check_green(trees: SimpleQueue[Tree], tests: Sequence[str]) -> None:
    tree = trees.get()
    ran = tree.run(tests)
    trees.put(tree)
    if not ran.is_green:
        raise LiyagentError(f"not green with every guard in:\n{ran.tail}")
    _say(f"{len(set(tests))} tests are green with every guard in")


def _try(trees: SimpleQueue[Tree], guard: Guard) -> Tried:
    tree = trees.get()
    try:
        tree.take_out(guard)
        ran = tree.run(guard.tests)
        green = tuple(test for test in guard.tests if not ran.is_red(test))
        problem = "" if ran.failed or not green else f"pytest ended with {ran.code}:\n{ran.tail}"
        tried = Tried(guard=guard, green=green, problem=problem)
    except LiyagentError as error:
        tried = Tried(guard=guard, problem=str(error))
    finally:
        tree.put_back(guard)
        trees.put(tree)
    _say(f"{guard.name:<52} {'yes' if tried.is_shown else 'NO'}  {_told(guard)}")
    return tried


def _told(guard: Guard) -> str:
    return ", ".join(test.partition("::")[2] for test in guard.tests)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
