"""How the demo is shown: a table redrawn in place at a terminal, else one line for each change."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from liyagent.demo.judge import Kind, Unknown, Verdict

SIGNS = {
    "": "…",
    "done": "✓",
    "failed": "✗",
    "refused": "✗",
    "held": "‖",
    "unknown": "?",
}
LEGEND = "writes: ✓ done  … in doubt now  ? unknown  ✗ failed  ‖ held"
UP = "\x1b[{}A"
CLEAR_LINE = "\x1b[2K"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run at one moment. `fates` are those of its writes, oldest first."""

    number: int
    kind: str
    status: str
    step: int
    holder: str
    attempt: int
    fates: tuple[str, ...]

    def text(self) -> str:
        """Return the line as it is shown."""
        signs = "".join(SIGNS[fate] for fate in self.fates)
        return (
            f"run {self.number:>2}  {self.kind:<8}  {self.status:<9} {self.holder or '-':<2} "
            f"attempt {self.attempt}  step {self.step}  {signs}"
        )


class Screen:
    """Writes what happens to `out`; remembers what stands there, to redraw or to tell changes only."""

    def __init__(self, out: TextIO) -> None:
        """Redraw if `out` is a terminal, else write lines."""
        self._out = out
        self._is_terminal = out.isatty()
        self._began = time.monotonic()
        self._shown: dict[int, RunLine] = {}
        self._drawn = 0

    def say(self, text: str) -> None:
        """Write one line that stays, with the seconds since the start."""
        self._drawn = 0
        self._write(f"[{time.monotonic() - self._began:5.1f} s] {text}")

    def show(self, lines: Sequence[RunLine]) -> None:
        """Show how the runs stand."""
        changed = [line for line in lines if self._shown.get(line.number) != line]
        self._shown.update({line.number: line for line in changed})
        if self._is_terminal and changed:
            self._redraw(lines)
        elif not self._is_terminal:
            for line in changed:
                self._write(f"          {line.text()}")

    def plain(self, text: str) -> None:
        """Write text as it is."""
        self._drawn = 0
        self._write(text)

    def _redraw(self, lines: Sequence[RunLine]) -> None:
        if self._drawn:
            self._out.write(UP.format(self._drawn))
        for text in (*(line.text() for line in lines), LEGEND):
            self._out.write(f"{CLEAR_LINE}  {text}\n")
        self._drawn = len(lines) + 1
        self._out.flush()

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def report(
    verdict: Verdict, *, numbers: Mapping[str, int], effects: int, recovery_seconds: float
) -> str:
    """Return the closing table and, last, whether the promise held. `numbers` are those that runs were shown with."""
    rows = [
        ("runs", str(len(numbers))),
        ("effects on the ledgers", str(effects)),
        ("caught in the middle of a write", _by_kind(verdict.caught)),
        ("lost", str(len(verdict.lost))),
        ("duplicate", str(len(verdict.duplicates))),
        ("missing", str(len(verdict.missing))),
        ("unknown, told to a person", _by_kind(_unknown_by_kind(verdict))),
        ("kill to last recovery", f"{recovery_seconds:.1f} s"),
    ]
    lines = [f"  {name:<32} {value}" for name, value in rows]
    lines += [f"    {_told(it, numbers[it.write.run_id])}" for it in verdict.unknown]
    ending = verdict.broken or ("The promise held.",)
    return "\n".join(("", *lines, "", *ending))


def _told(unknown: Unknown, run: int) -> str:
    vendor = unknown.write.vendor
    if not unknown.marker:
        return f"run {run}: a write to {vendor} never left the killed process"
    number = unknown.marker.rpartition("/")[2]
    effect = "took effect" if unknown.took_effect else "had no effect"
    return f"run {run} write {number}: {vendor} says it {effect}"


def _unknown_by_kind(verdict: Verdict) -> dict[Kind, int]:
    return {kind: sum(it.write.kind is kind for it in verdict.unknown) for kind in Kind}


def _by_kind(counts: Mapping[Kind, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())
