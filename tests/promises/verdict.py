"""What the outcomes of tests say of the promises. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.promises.due import Due
from tests.promises.outcomes import PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A promise and its tests; `failed` names those that did not pass."""

    promise: str
    tests: int
    failed: tuple[str, ...]
    due: Due | None

    @property
    def is_kept(self) -> bool:
        """Whether at least one test names it and all that do pass."""
        return self.tests > 0 and not self.failed


def kept_promises(outcomes: Mapping[str, Mapping[str, str]], due: Mapping[str, Due]) -> list[Kept]:
    """Return every promise that is due or that a test names, in order of its id."""
    return [
        Kept(
            promise=name,
            tests=len(outcomes.get(name, {})),
            failed=tuple(
                test for test, outcome in outcomes.get(name, {}).items() if outcome != PASSED
            ),
            due=due.get(name),
        )
        for name in sorted({*outcomes, *due})
    ]


def table(promises: Sequence[Kept]) -> str:
    """Return a line a promise, with the tests that failed below it."""
    lines = [f"{'promise':<8} {'tests':>5}  {'kept':<4}  what"]
    for it in promises:
        text = it.due.text if it.due else "not due yet"
        half = f" (now: {it.due.part})" if it.due and it.due.part else ""
        kept = "yes" if it.is_kept else "NO"
        lines.append(f"{it.promise:<8} {it.tests:>5}  {kept:<4}  {text}{half}")
        lines += [f"{'':>22}failed: {test}" for test in it.failed]
    return "\n".join(lines)


def words_on(broken: Kept) -> str:
    """Say in a line which promise is not kept and why, with the tests that failed below it."""
    text = broken.due.text if broken.due else "not due yet"
    why = "" if broken.tests else " (no test names it)"
    return "\n".join(
        [
            f"not kept: {broken.promise} {text}{why}",
            *(f"    failed: {test}" for test in broken.failed),
        ]
    )
